//! Messages that others recorded or made: read from a `shared/vectors` folder beside the workspace, where there is one.

use std::fs;
use std::path::{Path, PathBuf};

use e2sm::Arena;
use e2sm::kpm::{IndicationMessage, IndicationMessageFormats, MeasurementRecordItem, Revision};

fn shared() -> Option<PathBuf> {
    let found =
        Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().map(|dir| dir.join("../shared/vectors")).find(|d| d.is_dir());
    if found.is_none() {
        println!("no shared/vectors folder: only the project's own vectors are tested");
    }
    found
}

fn hex(text: &str) -> Vec<u8> {
    let digits: String = text.split_whitespace().collect();
    (0..digits.len()).step_by(2).map(|i| u8::from_str_radix(&digits[i..i + 2], 16).unwrap()).collect()
}

#[test]
fn indications_of_32_ues() {
    let Some(shared) = shared() else { return };
    let mut arena = Arena::new();
    for (file, reals) in [("kpm_ind_32ue.hex", false), ("kpm_ind_32ue_real.hex", true)] {
        let bytes = hex(&fs::read_to_string(shared.join("e2sm").join(file)).unwrap());
        arena.reset();
        let message = IndicationMessage::decode(&bytes, Revision::V3_00, &arena).unwrap();
        let IndicationMessageFormats::Format3(format3) = &message.formats else { panic!("format 3") };
        assert_eq!(format3.ue_meas_report_list.len(), 32);
        for report in &format3.ue_meas_report_list {
            assert_eq!(report.meas_report.meas_info_list.as_ref().unwrap().len(), 8);
            let [data] = &report.meas_report.meas_data[..] else { panic!("one record") };
            assert_eq!(data.meas_record.len(), 8);
            assert_eq!(reals, data.meas_record.iter().any(|item| matches!(item, MeasurementRecordItem::Real(_))));
        }
        let mut again = Vec::new();
        message.encode(Revision::V3_00, &mut again).unwrap();
        assert_eq!(again, bytes, "{file}");
    }
}

//! How a network is drawn: cells with bars, UEs, events; for any size of the terminal.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Clear, Paragraph, Sparkline};

use super::model::{Cell, Network, SortKey, Ue, UeKey};
use super::time::time_of_day;

/// What the user has chosen.
#[derive(Debug, Default)]
pub struct View {
    pub sort: SortKey,
    pub filter: String,
    /// Whether keys are added to the filter.
    pub is_typing: bool,
    pub shows_help: bool,
    pub shows_details: bool,
    /// Whether new reports are shown.
    pub is_paused: bool,
    /// The selected UE.
    pub selected: Option<UeKey>,
    pub palette: Palette,
}

/// The colours, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Palette {
    pub is_coloured: bool,
}

impl Default for Palette {
    fn default() -> Self {
        Palette { is_coloured: true }
    }
}

impl Palette {
    fn fg(self, color: Color) -> Style {
        if self.is_coloured { Style::new().fg(color) } else { Style::new() }
    }

    fn heading(self) -> Style {
        self.fg(Color::Cyan).add_modifier(Modifier::BOLD)
    }

    /// The colour of a load in percent.
    fn load(self, percent: f64) -> Style {
        self.fg(match percent {
            90.0.. => Color::Red,
            60.0..90.0 => Color::Yellow,
            _ => Color::Green,
        })
    }
}

/// Below these sizes, parts are left out.
const MIN_WIDTH_OF_BARS: u16 = 60;
const MIN_HEIGHT_OF_CELLS: u16 = 14;
const MIN_HEIGHT_OF_EVENTS: u16 = 20;

/// Draws everything.
pub fn draw(frame: &mut Frame<'_>, network: &Network, view: &View) {
    let area = frame.area();
    if area.width < 10 || area.height < 3 {
        return frame.render_widget(Paragraph::new("small"), area);
    }
    let cells = match area.height {
        ..MIN_HEIGHT_OF_CELLS => 0,
        height => (network.cells().len() as u16 + 2).clamp(3, height / 3),
    };
    let events = if area.height < MIN_HEIGHT_OF_EVENTS { 0 } else { (area.height / 5).clamp(4, 12) };
    let details = if view.shows_details && area.height >= MIN_HEIGHT_OF_CELLS { 7 } else { 0 };
    let [head, cell_area, ue_area, detail_area, event_area, foot] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(cells),
        Constraint::Min(3),
        Constraint::Length(details),
        Constraint::Length(events),
        Constraint::Length(1),
    ])
    .areas(area);
    draw_head(frame, head, network, view);
    if cells > 0 {
        draw_cells(frame, cell_area, network, view.palette);
    }
    draw_ues(frame, ue_area, network, view);
    if details > 0 {
        draw_details(frame, detail_area, network, view);
    }
    if events > 0 {
        draw_events(frame, event_area, network, view.palette);
    }
    draw_foot(frame, foot, view);
    if view.shows_help {
        draw_help(frame, area, view.palette);
    }
}

fn draw_head(frame: &mut Frame<'_>, area: Rect, network: &Network, view: &View) {
    let palette = view.palette;
    let mut spans = vec![Span::styled("ferric ", palette.heading()), Span::raw(network.ric.clone())];
    if let Some(trouble) = &network.trouble {
        spans.push(Span::styled(format!("  {trouble}"), palette.fg(Color::Red).add_modifier(Modifier::BOLD)));
    } else {
        let cells = network.cells().len();
        let ues: usize = network.cells().map(|(node, _)| network.ues_of(node)).sum();
        let sum = |value: fn(&Cell) -> Option<f64>| network.cells().filter_map(|(_, cell)| value(cell)).sum::<f64>();
        let (dl, ul) = (sum(|cell| cell.values.dl_mbps), sum(|cell| cell.values.ul_mbps));
        let (one, many) = (if cells == 1 { "" } else { "s" }, if ues == 1 { "" } else { "s" });
        let sums = format!("  {cells} cell{one}, {ues} UE{many}, {} down, {} up Mbit/s", number(dl), number(ul));
        spans.push(Span::raw(sums));
    }
    if view.is_paused {
        spans.push(Span::styled("  PAUSED", palette.fg(Color::Yellow).add_modifier(Modifier::BOLD)));
    }
    frame.render_widget(Line::from(spans), area);
}

/// One line a cell: name, UEs, throughput, bars of PRBs, slices or a sparkline.
fn draw_cells(frame: &mut Frame<'_>, area: Rect, network: &Network, palette: Palette) {
    let lines = usize::from(area.height.saturating_sub(2));
    let total = network.cells().len();
    let title = if total > lines { format!(" Cells (the first {lines} of {total}) ") } else { " Cells ".to_owned() };
    let block = Block::new().borders(Borders::TOP).title(Span::styled(title, palette.heading()));
    let inner = block.inner(area);
    frame.render_widget(block, area);
    if total == 0 {
        let hint = "no base station yet: connect one, or `ferric ran`, to the RIC's E2 address";
        return frame.render_widget(Line::from(hint), inner);
    }
    let has_bars = inner.width >= MIN_WIDTH_OF_BARS;
    let name_width = network.cells().map(|(_, cell)| cell.label.len()).max().unwrap_or(0).min(24);
    let heading = if has_bars {
        format!(
            "{:name_width$} {:>4} {:>7} {:>7}  {:<17} {:<17}",
            "", "UEs", "DL Mb/s", "UL Mb/s", "PRBs DL", "PRBs UL"
        )
    } else {
        format!("{:name_width$} {:>4} {:>7} {:>5}", "", "UEs", "DL Mb/s", "PRBs")
    };
    let rows = Layout::vertical(vec![Constraint::Length(1); lines + 1]).split(inner);
    let put = |frame: &mut Frame<'_>, at: usize, line: Line<'_>| {
        if let Some(row) = rows.get(at).filter(|row| row.bottom() <= inner.bottom()) {
            frame.render_widget(line, *row);
        }
    };
    put(frame, 0, Line::from(Span::styled(heading, palette.fg(Color::DarkGray))));
    for (at, (node, cell)) in network.cells().take(lines).enumerate() {
        let ues = network.ues_of(node);
        let label: String = cell.label.chars().take(name_width).collect();
        let mut spans = vec![Span::raw(format!("{label:name_width$} {ues:>4} {:>7} ", value(cell.values.dl_mbps)))];
        if let Some(trouble) = &cell.trouble {
            spans.push(Span::styled(trouble.clone(), palette.fg(Color::Yellow)));
        } else if has_bars {
            spans.push(Span::raw(format!("{:>7}  ", value(cell.values.ul_mbps))));
            for percent in [cell.values.prb_dl(), cell.values.prb_ul()] {
                spans.extend(bar(percent, 10, palette));
                spans.push(Span::raw("  "));
            }
            if cell.slices.is_empty() {
                spans.push(Span::styled(spark(&cell.history, 24), palette.fg(Color::Blue)));
            } else {
                spans.push(Span::raw(cell.slices.join("; ")));
            }
        } else {
            let percent = cell.values.prb_dl();
            let style = palette.load(percent.unwrap_or_default());
            spans.push(Span::styled(percent.map_or("-".to_owned(), |percent| format!("{percent:>3.0} %")), style));
        }
        put(frame, at + 1, Line::from(spans));
    }
}

/// `██████░░░░  61 %`
fn bar(percent: Option<f64>, width: usize, palette: Palette) -> Vec<Span<'static>> {
    let Some(percent) = percent else { return vec![Span::raw(format!("{:width$}     -", ""))] };
    let filled = ((percent / 100.0 * width as f64).round() as usize).min(width);
    let style = palette.load(percent);
    vec![
        Span::styled("█".repeat(filled), style),
        Span::styled("░".repeat(width - filled), palette.fg(Color::DarkGray)),
        Span::raw(format!(" {percent:>3.0} %")),
    ]
}

/// The last values as a line of bars.
fn spark(history: &std::collections::VecDeque<f64>, width: usize) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let most = history.iter().copied().fold(0.0, f64::max);
    let shown = history.iter().skip(history.len().saturating_sub(width));
    shown.map(|value| if most > 0.0 { BARS[((value / most * 7.0).round() as usize).min(7)] } else { BARS[0] }).collect()
}

/// A column of UEs: heading, width, value.
type Column = (&'static str, usize, fn(&Ue) -> String);

const COLUMNS: [Column; 7] = [
    ("DL Mb/s", 8, |ue| value(ue.values.dl_mbps)),
    ("UL Mb/s", 8, |ue| value(ue.values.ul_mbps)),
    ("PRB DL%", 8, |ue| integer(ue.values.prb_dl())),
    ("PRB UL%", 8, |ue| integer(ue.values.prb_ul())),
    ("Delay ms", 9, |ue| value(ue.values.get("DRB.RlcSduDelayDl").map(|tenths| tenths / 10.0))),
    ("CQI", 5, |ue| integer(ue.values.get("CQI"))),
    ("RNTI", 8, |ue| ue.names.split(' ').next().filter(|name| name.starts_with("0x")).unwrap_or("-").to_owned()),
];

fn draw_ues(frame: &mut Frame<'_>, area: Rect, network: &Network, view: &View) {
    let palette = view.palette;
    let ues = network.sorted_ues(view.sort, &view.filter);
    let lines = usize::from(area.height.saturating_sub(2));
    let selected = view.selected.as_ref().and_then(|key| ues.iter().position(|(other, _)| *other == key));
    let first = selected.map_or(0, |at| at.saturating_sub(lines.saturating_sub(1)));
    let range = match ues.len() {
        0 => String::new(),
        total => format!(" {} to {} of {total},", first + 1, (first + lines).min(total)),
    };
    let filter = if view.filter.is_empty() { String::new() } else { format!(", with `{}`", view.filter) };
    let title = format!(" UEs{range} by {}{filter} ", view.sort.name());
    let block = Block::new().borders(Borders::TOP).title(Span::styled(title, palette.heading()));
    let inner = block.inner(area);
    frame.render_widget(block, area);
    let name = |(node, ue): &UeKey| format!("{} {ue}", node.trim_start_matches("gnb-"));
    let name_width = ues.iter().map(|(key, _)| name(key).len()).max().unwrap_or(2).clamp(2, 28);
    let mut width = name_width + 1;
    let columns: Vec<&Column> = COLUMNS
        .iter()
        .take_while(|(_, columns, _)| {
            width += columns;
            width <= usize::from(inner.width)
        })
        .collect();
    let width = name_width + 1 + columns.iter().map(|(_, width, _)| width).sum::<usize>();
    let room_of_spark = usize::from(inner.width).saturating_sub(width + 1).min(40);
    let heading =
        columns.iter().fold(format!(" {:name_width$}", "UE"), |text, (name, width, _)| format!("{text}{name:>width$}"));
    let mut text = vec![Line::from(Span::styled(heading, palette.fg(Color::DarkGray)))];
    for (at, (key, ue)) in ues.iter().enumerate().skip(first).take(lines) {
        let is_selected = selected == Some(at);
        let label: String = name(key).chars().take(name_width).collect();
        let mark = if is_selected { '>' } else { ' ' };
        let mut row = format!("{mark}{label:name_width$}");
        for (_, width, of) in &columns {
            row += &format!("{:>width$}", of(ue));
        }
        let style = if is_selected { Style::new().add_modifier(Modifier::REVERSED) } else { Style::new() };
        let mut spans = vec![Span::styled(row, style)];
        if room_of_spark >= 5 {
            spans.push(Span::styled(format!(" {}", spark(&ue.history, room_of_spark)), palette.fg(Color::Blue)));
        }
        text.push(Line::from(spans));
    }
    if ues.is_empty() {
        text.push(Line::from(if view.filter.is_empty() { " none" } else { " none matches the filter" }));
    }
    frame.render_widget(Paragraph::new(text), inner);
}

/// All values of the selected UE.
fn draw_details(frame: &mut Frame<'_>, area: Rect, network: &Network, view: &View) {
    let palette = view.palette;
    let known = view.selected.as_ref().and_then(|key| Some((key, network.ue(key)?)));
    let title = known.map_or(" Details ".to_owned(), |((node, name), ue)| format!(" {node} {name} {} ", ue.names));
    let block = Block::new().borders(Borders::TOP).title(Span::styled(title, palette.heading()));
    let inner = block.inner(area);
    frame.render_widget(block, area);
    let Some((_, ue)) = known else {
        return frame.render_widget(Line::from("select a UE with the arrow keys"), inner);
    };
    let [left, right] = Layout::horizontal([Constraint::Percentage(60), Constraint::Percentage(40)]).areas(inner);
    let values: Vec<String> =
        ue.values.by_name.iter().map(|(name, value)| format!("{name} {}", number(*value))).collect();
    frame.render_widget(Paragraph::new(values.join("   ")).wrap(ratatui::widgets::Wrap { trim: true }), left);
    let history: Vec<u64> = ue.history.iter().map(|mbps| (mbps * 1e3) as u64).collect();
    let shown = &history[history.len().saturating_sub(usize::from(right.width))..];
    frame.render_widget(Sparkline::default().data(shown).style(palette.fg(Color::Blue)), right);
}

fn draw_events(frame: &mut Frame<'_>, area: Rect, network: &Network, palette: Palette) {
    let block = Block::new().borders(Borders::TOP).title(Span::styled(" Events ", palette.heading()));
    let inner = block.inner(area);
    frame.render_widget(block, area);
    let lines = usize::from(inner.height);
    let skipped = network.events().len().saturating_sub(lines);
    let text: Vec<Line<'_>> = network
        .events()
        .skip(skipped)
        .map(|event| {
            let at = Span::styled(time_of_day(event.at), palette.fg(Color::DarkGray));
            Line::from(vec![at, Span::raw(" "), Span::raw(event.text.clone())])
        })
        .collect();
    frame.render_widget(Paragraph::new(text), inner);
}

fn draw_foot(frame: &mut Frame<'_>, area: Rect, view: &View) {
    let text = if view.is_typing {
        format!("filter: {}_   Enter: keep, Esc: clear", view.filter)
    } else if area.width < 80 {
        "q quit  s sort  / filter  ? help".to_owned()
    } else {
        "q quit   s sort   / filter   arrows select   Enter details   p pause   ? help".to_owned()
    };
    frame.render_widget(Line::from(Span::styled(text, view.palette.fg(Color::DarkGray))), area);
}

const HELP: [&str; 12] = [
    "q, Esc, Ctrl-C   end",
    "s                sort UEs by the next value",
    "/                filter UEs by node or name",
    "Up, Down, j, k   select a UE",
    "PgUp, PgDn       ten UEs further",
    "Enter, d         all values of the selected UE",
    "p, Space         stop and continue the display",
    "? or h           this help",
    "",
    "DL, UL: data of the last period over its length.",
    "PRBs: share of the cell's resource blocks.",
    "-: the base station does not report it.",
];

fn draw_help(frame: &mut Frame<'_>, area: Rect, palette: Palette) {
    let width = 52.min(area.width);
    let height = (HELP.len() as u16 + 2).min(area.height);
    let place = Rect { x: area.x + (area.width - width) / 2, y: area.y + (area.height - height) / 2, width, height };
    let block = Block::bordered().title(Span::styled(" Keys ", palette.heading()));
    frame.render_widget(Clear, place);
    frame.render_widget(Paragraph::new(HELP.map(Line::from).to_vec()).block(block), place);
}

fn integer(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), |value| format!("{value:.0}"))
}

/// A value with its significant digits, `-` for none.
fn value(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), number)
}

fn number(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        ..10.0 => format!("{value:.2}"),
        ..100.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    use super::super::model::Sample;
    use super::*;

    fn sample(of: &str, name: &str, value: f64) -> Sample {
        (of.to_owned(), name.to_owned(), Some(value))
    }

    /// Two cells, the first with 40 UEs, UE n with n Mbit/s.
    fn network() -> Network {
        let mut network = Network::new("ric-00101-1".to_owned());
        let at = UNIX_EPOCH + Duration::from_secs(3_661);
        network.add_cell("gnb-00101-e00", "gNB 00101-e00");
        network.add_cell("gnb-00101-e01", "gNB 00101-e01");
        let cell = [
            sample("cell", "DRB.PdcpSduVolumeDL", 42_000.0),
            sample("cell", "RRU.PrbTotDl", 61.0),
            sample("cell", "RRU.PrbTotUl", 97.0),
        ];
        network.cell_report("gnb-00101-e00", &cell, 1000);
        let ues: Vec<_> = (1..=40)
            .flat_map(|n| {
                let ue = format!("amf:{n}");
                [sample(&ue, "DRB.PdcpSduVolumeDL", f64::from(n) * 1e3), sample(&ue, "CQI", 12.0)]
            })
            .collect();
        network.ue_report(at, "gnb-00101-e00", &ues, 1000);
        network.set_trouble("gnb-00101-e01", "the node does not offer KPM".to_owned());
        network.event(at, "gNB 00101-e00 up".to_owned());
        network
    }

    fn drawn(width: u16, height: u16, network: &Network, view: &View) -> Vec<String> {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| draw(frame, network, view)).unwrap();
        let buffer = terminal.backend().buffer();
        (0..height)
            .map(|y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned())
            .collect()
    }

    #[test]
    fn usual_terminal_shows_cells_ues_and_events() {
        let lines = drawn(80, 24, &network(), &View::default());
        let text = lines.join("\n");
        assert!(lines[0].starts_with("ferric ric-00101-1  2 cells, 40 UEs, 42.0 down, 0 up Mbit/s"), "{text}");
        for part in [
            "gNB 00101-e00   40    42.0       -  ██████░░░░  61 %  ██████████  97 %",
            "gNB 00101-e01    0       - the node does not offer KPM",
            "UEs 1 to 12 of 40, by activity",
            "00101-e00 amf:40    40.0 ",
            "01:01:01 gNB 00101-e00 up",
            "q quit   s sort",
        ] {
            assert!(text.contains(part), "`{part}` in:\n{text}");
        }
        let of = |name: &str| lines.iter().position(|line| line.contains(name));
        assert!(of("amf:40") < of("amf:39"), "the most active UE is first:\n{text}");
    }

    #[test]
    fn narrow_terminal_shows_ues_and_keys() {
        let lines = drawn(40, 10, &network(), &View::default());
        let text = lines.join("\n");
        assert!(text.contains("amf:40") && text.contains("40.0") && !text.contains("Events"), "{text}");
        assert_eq!(lines[9], "q quit  s sort  / filter  ? help");
    }

    #[test]
    fn every_size_is_drawn() {
        let mut view = View { shows_details: true, shows_help: true, ..View::default() };
        let network = network();
        for selected in [None, Some(("gnb-00101-e00".to_owned(), "amf:3".to_owned()))] {
            view.selected = selected;
            for width in [1, 9, 10, 28, 40, 59, 60, 80, 132] {
                for height in [1, 2, 3, 7, 13, 14, 19, 20, 24, 50] {
                    drawn(width, height, &network, &view);
                    drawn(width, height, &Network::default(), &view);
                }
            }
        }
    }

    #[test]
    fn selected_ue_is_marked_and_in_sight_with_its_details() {
        let selected = Some(("gnb-00101-e00".to_owned(), "amf:3".to_owned()));
        let view = View { selected, shows_details: true, ..View::default() };
        let lines = drawn(100, 30, &network(), &view);
        let text = lines.join("\n");
        assert!(lines.iter().any(|line| line.starts_with(">00101-e00 amf:3 ")), "{text}");
        assert!(text.contains("CQI 12.0   DRB.PdcpSduVolumeDL 3000"), "{text}");
    }

    #[test]
    fn filter_and_its_prompt_are_shown() {
        let view = View { filter: "amf:7".to_owned(), is_typing: true, ..View::default() };
        let text = drawn(80, 24, &network(), &view).join("\n");
        assert!(text.contains("UEs 1 to 1 of 1, by activity, with `amf:7`"), "{text}");
        assert!(text.contains("filter: amf:7_"), "{text}");
    }

    #[test]
    fn lost_ric_is_in_the_first_line() {
        let mut network = network();
        network.trouble = Some("connection to the RIC lost, next attempt in 1 s".to_owned());
        assert!(drawn(80, 24, &network, &View::default())[0].contains("connection to the RIC lost"));
    }

    #[test]
    fn without_colours_no_cell_has_one() {
        let network = network();
        for is_coloured in [false, true] {
            let view = View { palette: Palette { is_coloured }, shows_help: true, ..View::default() };
            let mut terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
            terminal.draw(|frame| draw(frame, &network, &view)).unwrap();
            let has_colour = terminal.backend().buffer().content().iter().any(|cell| cell.fg != Color::Reset);
            assert_eq!(has_colour, is_coloured);
        }
    }
}

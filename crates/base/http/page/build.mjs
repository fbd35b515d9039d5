// Builds a page into a folder: one script, one style sheet and the document. The same sources give the same octets.
//   node build.mjs PAGE FOLDER
import { copyFileSync, mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const kit = dirname(fileURLToPath(import.meta.url));
// Their licences demand that their notices accompany them.
const notices = ["preact", "uplot"].map((name) => `${name}\n\n${readFileSync(join(kit, `node_modules/${name}/LICENSE`), "utf8").trim()}`);

const [, , page, folder] = process.argv;
mkdirSync(folder, { recursive: true });
await build({
  entryPoints: { page: join(page, "src/main.tsx") },
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
  banner: { js: `/*!\n${notices.join("\n\n")}\n*/` },
  outdir: folder,
  logLevel: "warning",
});
copyFileSync(join(page, "src/index.html"), join(folder, "index.html"));
copyFileSync(join(kit, "src/icon.svg"), join(folder, "icon.svg"));

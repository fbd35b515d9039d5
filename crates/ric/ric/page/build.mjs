// Builds the page into a folder: one script, one style sheet and the document. The same sources give the same octets.
import { copyFileSync, mkdirSync, readFileSync } from "node:fs";
import { build } from "esbuild";

// Their licences demand that their notices accompany them.
const notices = ["preact", "uplot"].map((name) => `${name}\n\n${readFileSync(`node_modules/${name}/LICENSE`, "utf8").trim()}`);

const folder = process.argv[2] ?? "dist";
mkdirSync(folder, { recursive: true });
await build({
  entryPoints: { page: "src/main.tsx" },
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
for (const file of ["index.html", "icon.svg"]) copyFileSync(`src/${file}`, `${folder}/${file}`);

// Prints the path of Chromium: the variable CHROMIUM, or the first one that is installed.

import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** The path of Chromium; undefined if there is none. */
export const chromiumPath =
  process.env.CHROMIUM ?? ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(existsSync);

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  if (!chromiumPath) process.exit(1);
  console.log(chromiumPath);
}

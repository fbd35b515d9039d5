import { render } from "preact";
import "uplot/dist/uPlot.min.css";
import "kit/page.css";
import { setService } from "kit/api";
import { App } from "./app";

setService({ name: "RIC", probe: "/v1/configuration" });
const place = document.getElementById("page");
if (place) render(<App />, place);

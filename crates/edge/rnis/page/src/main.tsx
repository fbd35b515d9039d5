import { render } from "preact";
import "uplot/dist/uPlot.min.css";
import "kit/page.css";
import "./rnis.css";
import { setService } from "kit/api";
import { App } from "./app";

setService({ name: "RNIS", probe: "/rnis/v1/subscriptions" });
const place = document.getElementById("page");
if (place) render(<App />, place);

import { render } from "preact";
import { enter } from "./auth/entrance";
import { Shell } from "./shell";

const root = document.getElementById("app");
void enter();
if (root) render(<Shell />, root);

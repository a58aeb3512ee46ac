import { effect, signal } from "@preact/signals";

const THEMES = ["system", "light", "dark"] as const;
type Theme = (typeof THEMES)[number];
const KEY = "certitude-theme";

const theme = signal<Theme>(THEMES.find((each) => each === localStorage.getItem(KEY)) ?? "system");

effect(() => {
  document.documentElement.dataset.theme = theme.value;
  localStorage.setItem(KEY, theme.value);
});

function choose({ currentTarget }: { currentTarget: HTMLSelectElement }) {
  theme.value = THEMES.find((each) => each === currentTarget.value) ?? "system";
}

export const ThemePicker = () => (
  <label class="theme">
    <span class="hidden">Colours</span>
    <select value={theme.value} onChange={choose}>
      <option value="system">Colours of the system</option>
      <option value="light">Light</option>
      <option value="dark">Dark</option>
    </select>
  </label>
);

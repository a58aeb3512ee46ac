import { link, place } from "../../router";

const TABS = [
  ["notifications", "Your mail"],
  ["notifications/routes", "Routes"],
  ["notifications/expiry", "Expiry"],
] as const;

/** The pages about notifications. */
export const NotificationTabs = () => (
  <nav class="tabs" aria-label="Notifications">
    {TABS.map(([path, label]) => (
      <a key={path} href={link(path)} aria-current={place.value.path === path ? "page" : undefined}>
        {label}
      </a>
    ))}
  </nav>
);

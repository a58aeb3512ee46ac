import { useSignal } from "@preact/signals";
import { session } from "./auth/session";
import { signOut } from "./auth/sign-out";
import { HOME, pages } from "./pages/index";
import { Icon } from "./parts/icon";
import { go, link, place } from "./router";
import { ThemePicker } from "./theme";
import { unread } from "./title";

const GROUPS = ["", "Certificates", "Fleet", "Compliance", "Organization"] as const;

export function Navigation() {
  const isOpen = useSignal(false);
  const toggle = (open: boolean) => {
    isOpen.value = open;
  };
  return (
    <header class="side">
      <div class="side-top">
        <a class="brand" href={link(HOME)}>
          <Icon name="shield" /> Certitude
        </a>
        <button class="menu quiet" type="button" aria-expanded={isOpen.value} aria-controls="navigation" onClick={() => toggle(!isOpen.value)}>
          <Icon name="menu" /> Menu
        </button>
      </div>
      <div id="navigation" class={isOpen.value ? "side-body open" : "side-body"}>
        <OrganizationPicker />
        <nav aria-label="Pages">
          {GROUPS.map((group) => (
            <Group key={group} group={group} onChosen={() => toggle(false)} />
          ))}
        </nav>
        <div class="side-foot">
          <a class="who" href={link("profile")} aria-current={place.value.path === "profile" ? "page" : undefined}>
            <Icon name="person" /> {session.value?.person.name}
          </a>
          <ThemePicker />
          <button class="quiet" type="button" onClick={() => void signOut()}>
            <Icon name="leave" /> Sign out
          </button>
        </div>
      </div>
    </header>
  );
}

function Group({ group, onChosen }: { group: string; onChosen: () => void }) {
  const shown = pages.filter(({ nav }) => nav && nav.group === group);
  if (shown.length === 0) return null;
  const { path } = place.value;
  return (
    <>
      {group && <h2>{group}</h2>}
      <ul>
        {shown.map(({ path: target, nav }) => (
          <li key={target}>
            <a href={link(target)} onClick={onChosen} aria-current={path === target ? "page" : path.startsWith(`${target}/`) ? "true" : undefined}>
              <Icon name={nav?.icon ?? "shield"} /> {nav?.label}
              {target === "inbox" && <UnreadCount />}
            </a>
          </li>
        ))}
      </ul>
    </>
  );
}

const UnreadCount = () =>
  unread.value > 0 ? (
    <span class="number">
      {unread.value.toLocaleString()} <span class="hidden">unread</span>
    </span>
  ) : null;

function OrganizationPicker() {
  const memberships = session.value?.person.memberships ?? [];
  const { organizationId = "" } = place.value;
  const isKnown = memberships.some((each) => each.organizationId === organizationId);
  return (
    <label class="organization">
      <span>Organization</span>
      <select value={organizationId} onChange={({ currentTarget }) => go(`#/o/${currentTarget.value}/${HOME}`)}>
        {!isKnown && <option value={organizationId}>{organizationId || "None"}</option>}
        {memberships.map((each) => (
          <option key={each.organizationId} value={each.organizationId}>
            {each.organizationName}
          </option>
        ))}
      </select>
    </label>
  );
}

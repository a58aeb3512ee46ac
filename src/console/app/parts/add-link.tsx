import { isAdmin } from "../auth/session";
import { Icon } from "./icon";

/** Leads an administrator to where a thing is made. */
export const AddLink = ({ href, label }: { href: string; label: string }) => (
  <>
    {isAdmin.value && (
      <a class="button primary" href={href}>
        <Icon name="plus" /> {label}
      </a>
    )}
  </>
);

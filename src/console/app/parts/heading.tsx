import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { pageTitle } from "../title";

type Props = { title: string; intro?: ComponentChildren; back?: { label: string; href: string }; actions?: ComponentChildren };

/** The page's one heading. It takes the focus when the page appears, and names the window. */
export function PageHeading({ title, intro, back, actions }: Props) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus({ preventScroll: true }), []);
  useEffect(() => {
    pageTitle.value = title;
  }, [title]);
  return (
    <div class="heading">
      <div>
        {back && (
          <a class="back" href={back.href}>
            {back.label}
          </a>
        )}
        <h1 ref={heading} tabIndex={-1}>
          {title}
        </h1>
        {intro && <p class="intro">{intro}</p>}
      </div>
      {actions && <div class="actions">{actions}</div>}
    </div>
  );
}

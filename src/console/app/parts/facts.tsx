import type { ComponentChildren } from "preact";

/** Facts of one thing: names and values. */
export const Facts = ({ of }: { of: (readonly [name: string, value: ComponentChildren])[] }) => (
  <dl class="facts">
    {of.map(([name, value]) => (
      <div key={name}>
        <dt>{name}</dt>
        <dd>{value ?? <span class="none">none</span>}</dd>
      </div>
    ))}
  </dl>
);

type Section = { title: string; hint?: string; actions?: ComponentChildren; children: ComponentChildren };

export const Card = ({ title, hint, actions, children }: Section) => (
  <section class="card">
    <div class="card-top">
      <h2>{title}</h2>
      {actions}
    </div>
    {hint && <p class="fine">{hint}</p>}
    {children}
  </section>
);

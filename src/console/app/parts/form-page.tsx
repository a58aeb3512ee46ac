import type { ComponentChildren } from "preact";
import { Card } from "./facts";
import { PageHeading } from "./heading";

type Props = { title: string; back: { label: string; href: string }; intro: string; card: string; children: ComponentChildren };

/** The page of a form that makes something, in one card. */
export const FormPage = ({ title, back, intro, card, children }: Props) => (
  <>
    <PageHeading title={title} back={back} intro={intro} />
    <div class="narrow-form">
      <Card title={card}>{children}</Card>
    </div>
  </>
);

import { inOrganization, write } from "../../api";
import { Card } from "../../parts/facts";
import { PageHeading } from "../../parts/heading";
import { toast } from "../../parts/toast";
import { go, link } from "../../router";
import { IssuerForm } from "./issuer-form";
import type { Issuer } from "./types";

export function NewIssuerPage() {
  async function create(body: object) {
    const { id } = await write<Issuer>("POST", inOrganization("issuers"), { body });
    toast("The issuer is made. Test it now.");
    go(link(`issuers/${id}`));
  }
  return (
    <>
      <PageHeading title="New issuer" back={{ label: "Issuers", href: link("issuers") }} intro="Secrets are sealed, and never shown again." />
      <div class="narrow-form">
        <Card title="Issuer">
          <IssuerForm submit="Make the issuer" onSubmit={create} />
        </Card>
      </div>
    </>
  );
}

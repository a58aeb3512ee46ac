import { inOrganization, write } from "../../api";
import { FormPage } from "../../parts/form-page";
import { toast } from "../../parts/toast";
import { go, link } from "../../router";
import { IssuerForm } from "./issuer-form";

export function NewIssuerPage() {
  async function create(body: object) {
    const { id } = await write("POST", inOrganization("issuers"), { body });
    toast("The issuer is made. Test it now.");
    go(link(`issuers/${id}`));
  }
  return (
    <FormPage title="New issuer" back={{ label: "Issuers", href: link("issuers") }} intro="Secrets are sealed, and never shown again." card="Issuer">
      <IssuerForm submit="Make the issuer" onSubmit={create} />
    </FormPage>
  );
}

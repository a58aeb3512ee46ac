import { t } from "elysia";
import { Answer, OneOf } from "#http/schema";
import { MATERIAL_TYPES } from "./rules/catalogue";
import { TRUST_STORE_TYPES } from "./rules/store-types";

export const TrustStoreType = OneOf(TRUST_STORE_TYPES, { title: "TrustStoreType", examples: ["linux_update_ca_certificates"] });
export const MaterialType = OneOf(MATERIAL_TYPES, { title: "MaterialType", examples: ["trust_anchor"] });

const CATEGORIES = ["os", "runtime", "tool", "keystore", "browser", "container", "server", "database", "mainframe", "mobile"] as const;
const Texts = (example: string) => t.Array(t.String(), { examples: [[example]] });
const DocsUrl = t.String({ format: "uri", examples: ["https://manpages.debian.org/bookworm/ca-certificates/update-ca-certificates.8.en.html"] });

const ContainerBaseImage = Answer(
  {
    image: t.String({ examples: ["debian:12-slim"] }),
    displayName: t.String({ examples: ["Debian 12 slim"] }),
    caUpdateTool: t.String({ examples: ["update-ca-certificates"] }),
    e2ePriority: OneOf(["P0", "P1", "P2"]),
  },
  { title: "ContainerBaseImage" },
);

const TrustStore = Answer(
  {
    trustStoreType: TrustStoreType,
    category: OneOf(CATEGORIES),
    displayName: t.String({ examples: ["Debian, Ubuntu and Alpine system store (update-ca-certificates)"] }),
    supportedLanguages: Texts("python"),
    defaultPathHints: Texts("/usr/local/share/ca-certificates"),
    platforms: Texts("linux"),
    materialTypes: t.Array(MaterialType),
    docsUrl: DocsUrl,
    agentInstallable: t.Boolean({ description: "Whether our own agent installs into it" }),
    containerBaseImages: t.Array(ContainerBaseImage),
  },
  { title: "TrustStore" },
);

const ClientOnlyLanguage = Answer(
  {
    language: t.String({ examples: ["rust"] }),
    displayName: t.String({ examples: ["Rust (webpki-roots)"] }),
    agentInstallable: t.Boolean(),
    guidanceSummary: t.String({ examples: ["Roots are compiled in, so add the CA to the RootCertStore and rebuild."] }),
    docsUrl: DocsUrl,
  },
  { title: "ClientOnlyLanguage" },
);

export const TrustStoreCatalogue = Answer({ items: t.Array(TrustStore), clientOnlyLanguages: t.Array(ClientOnlyLanguage) }, { title: "TrustStoreCatalogue" });

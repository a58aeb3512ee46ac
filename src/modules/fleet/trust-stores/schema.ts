import { t } from "elysia";
import { Answer, OneOf } from "#http/schema";
import { MATERIAL_TYPES } from "./rules/catalogue";
import { TRUST_STORE_TYPES } from "./rules/store-types";

export const TrustStoreType = OneOf(TRUST_STORE_TYPES, {
  title: "TrustStoreType",
  description: "A type of store, as in the trust store catalogue",
  examples: ["linux_update_ca_certificates"],
});
export const MaterialType = OneOf(MATERIAL_TYPES, {
  title: "MaterialType",
  description: "What is installed: a CA to trust, or a certificate with or without its key",
  examples: ["trust_anchor"],
});

const CATEGORIES = ["os", "runtime", "tool", "keystore", "browser", "container", "server", "database", "mainframe", "mobile"] as const;
const Texts = (description: string, example: string) => t.Array(t.String(), { description, examples: [[example]] });
const DocsUrl = t.String({
  format: "uri",
  description: "The maker's own documentation",
  examples: ["https://manpages.debian.org/bookworm/ca-certificates/update-ca-certificates.8.en.html"],
});

const ContainerBaseImage = Answer(
  {
    image: t.String({ description: "Its name in a registry", examples: ["debian:12-slim"] }),
    displayName: t.String({ description: "Its name for people", examples: ["Debian 12 slim"] }),
    caUpdateTool: t.String({ description: "The program in it that takes CAs", examples: ["update-ca-certificates"] }),
    e2ePriority: OneOf(["P0", "P1", "P2"], { description: "How soon it is tried from end to end: P0 first" }),
  },
  { title: "ContainerBaseImage" },
);

const TrustStore = Answer(
  {
    trustStoreType: TrustStoreType,
    category: OneOf(CATEGORIES, { description: "What the store belongs to" }),
    displayName: t.String({ description: "Its name for people", examples: ["Debian, Ubuntu and Alpine system store (update-ca-certificates)"] }),
    supportedLanguages: Texts("Languages whose programs read it", "python"),
    defaultPathHints: Texts("Where it is, unless the host is set up otherwise", "/usr/local/share/ca-certificates"),
    platforms: Texts("Where it is found", "linux"),
    materialTypes: t.Array(MaterialType, { description: "What it takes; the first is the default" }),
    docsUrl: DocsUrl,
    agentInstallable: t.Boolean({ description: "Whether our own agent installs into it" }),
    containerBaseImages: t.Array(ContainerBaseImage, { description: "Images that have it" }),
  },
  { title: "TrustStore" },
);

const ClientOnlyLanguage = Answer(
  {
    language: t.String({ description: "In lower case", examples: ["rust"] }),
    displayName: t.String({ description: "Its name for people", examples: ["Rust (webpki-roots)"] }),
    agentInstallable: t.Boolean({ description: "Whether our own agent installs into it" }),
    guidanceSummary: t.String({
      description: "What a developer has to do",
      examples: ["Roots are compiled in, so add the CA to the RootCertStore and rebuild."],
    }),
    docsUrl: DocsUrl,
  },
  { title: "ClientOnlyLanguage" },
);

export const TrustStoreCatalogue = Answer(
  {
    items: t.Array(TrustStore, { description: "All of them" }),
    clientOnlyLanguages: t.Array(ClientOnlyLanguage, { description: "Languages whose programs carry their CAs in themselves" }),
  },
  { title: "TrustStoreCatalogue" },
);

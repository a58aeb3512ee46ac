import type { ComponentType } from "preact";
import type { IconName } from "../parts/icon";
import { SystemsPage } from "./ai-systems/list";
import { SystemPage } from "./ai-systems/system";
import { AuditPage } from "./audit/audit";
import { CertificatePage } from "./certificates/certificate";
import { ImportCsvPage } from "./certificates/csv/page";
import { CertificatesPage } from "./certificates/list";
import { ConnectionPage } from "./connections/connection";
import { ConnectionsPage } from "./connections/list";
import { NewConnectionPage } from "./connections/new";
import { DashboardPage } from "./dashboards/dashboard";
import { AgentPage } from "./fleet/agent";
import { AgentsPage } from "./fleet/agents";
import { AssignPage } from "./fleet/assign";
import { AssignmentPage } from "./fleet/assignment";
import { DeploymentsPage } from "./fleet/deployments";
import { JoinPage } from "./fleet/join";
import { NewPolicyPage } from "./fleet/new-policy";
import { NewRolloutPage } from "./fleet/new-rollout";
import { PoliciesPage } from "./fleet/policies";
import { PolicyPage } from "./fleet/policy";
import { RolloutPage } from "./fleet/rollout";
import { RolloutsPage } from "./fleet/rollouts";
import { SigningKeysPage } from "./fleet/signing-keys";
import { ControlPage } from "./governance/control";
import { ControlsPage } from "./governance/controls";
import { FrameworksPage } from "./governance/frameworks";
import { InboxPage } from "./inbox/inbox";
import { AuthoritiesPage } from "./issuance/authorities";
import { AuthorityPage } from "./issuance/authority";
import { IssuerPage } from "./issuance/issuer";
import { IssuersPage } from "./issuance/issuers";
import { NewAuthorityPage } from "./issuance/new-authority";
import { NewIssuerPage } from "./issuance/new-issuer";
import { NewOrderPage } from "./issuance/new-order";
import { OrderPage } from "./issuance/order";
import { OrdersPage } from "./issuance/orders";
import { IssuancePolicyPage } from "./issuance/policy";
import { RenewalsPage } from "./issuance/renewals";
import { RevocationsPage } from "./issuance/revocations";
import { KnowledgePage } from "./knowledge/knowledge";
import { ExpiryPage } from "./notifications/expiry";
import { PreferencesPage } from "./notifications/preferences";
import { RoutePage } from "./notifications/route";
import { RoutesPage } from "./notifications/routes";
import { OverviewPage } from "./overview/overview";
import { ApiTokensPage } from "./people/api-tokens";
import { InvitationPage } from "./people/invitation";
import { MembersPage } from "./people/members";
import { ProfilePage } from "./people/profile";

type PageEntry = {
  /** Below `#/o/{organizationId}/`; ":id" becomes a property of the page. */
  path: string;
  // biome-ignore lint/suspicious/noExplicitAny: each page names its own parameters
  Page: ComponentType<any>;
  nav?: { label: string; icon: IconName; group: "" | "Certificates" | "Fleet" | "Compliance" | "Organization" };
  /** Open without an organization too. */
  isPersonal?: boolean;
};

/** The page that the console opens with. */
export const HOME = "overview";

/** Every page. The navigation shows those with `nav`, in this order. */
export const pages: PageEntry[] = [
  { path: "overview", Page: OverviewPage, nav: { label: "Overview", icon: "home", group: "" } },
  { path: "dashboards", Page: DashboardPage, nav: { label: "Dashboards", icon: "chart", group: "" } },
  { path: "inbox", Page: InboxPage, isPersonal: true, nav: { label: "Inbox", icon: "inbox", group: "" } },
  { path: "certificates", Page: CertificatesPage, nav: { label: "Certificates", icon: "certificate", group: "Certificates" } },
  { path: "certificates/import", Page: ImportCsvPage },
  { path: "certificates/:id", Page: CertificatePage },
  { path: "orders", Page: OrdersPage, nav: { label: "Orders", icon: "order", group: "Certificates" } },
  { path: "orders/new", Page: NewOrderPage },
  { path: "orders/policy", Page: IssuancePolicyPage },
  { path: "orders/:id", Page: OrderPage },
  { path: "renewals", Page: RenewalsPage, nav: { label: "Renewals", icon: "retry", group: "Certificates" } },
  { path: "revocations", Page: RevocationsPage, nav: { label: "Revocations", icon: "cross", group: "Certificates" } },
  { path: "issuers", Page: IssuersPage, nav: { label: "Issuers", icon: "key", group: "Certificates" } },
  { path: "issuers/new", Page: NewIssuerPage },
  { path: "issuers/:id", Page: IssuerPage },
  { path: "authorities", Page: AuthoritiesPage, nav: { label: "Authorities", icon: "shield", group: "Certificates" } },
  { path: "authorities/new", Page: NewAuthorityPage },
  { path: "authorities/:id", Page: AuthorityPage },
  { path: "agents", Page: AgentsPage, nav: { label: "Agents", icon: "server", group: "Fleet" } },
  { path: "agents/:id", Page: AgentPage },
  { path: "agents/:id/assign", Page: AssignPage },
  { path: "agents/:id/assignments/:assignmentId", Page: AssignmentPage },
  { path: "join", Page: JoinPage },
  { path: "deployments", Page: DeploymentsPage, nav: { label: "Deployments", icon: "download", group: "Fleet" } },
  { path: "policies", Page: PoliciesPage, nav: { label: "Policies", icon: "list", group: "Fleet" } },
  { path: "policies/new", Page: NewPolicyPage },
  { path: "policies/:id", Page: PolicyPage },
  { path: "rollouts", Page: RolloutsPage, nav: { label: "Rollouts", icon: "rocket", group: "Fleet" } },
  { path: "rollouts/new", Page: NewRolloutPage },
  { path: "rollouts/:id", Page: RolloutPage },
  { path: "signing-keys", Page: SigningKeysPage, nav: { label: "Signing keys", icon: "key", group: "Fleet" } },
  { path: "invitation", Page: InvitationPage, isPersonal: true },
  { path: "members", Page: MembersPage, nav: { label: "Members", icon: "people", group: "Organization" } },
  { path: "api-tokens", Page: ApiTokensPage, nav: { label: "API tokens", icon: "key", group: "Organization" } },
  { path: "notifications", Page: PreferencesPage, isPersonal: true, nav: { label: "Notifications", icon: "bell", group: "Organization" } },
  { path: "notifications/routes", Page: RoutesPage },
  { path: "notifications/routes/:id", Page: RoutePage },
  { path: "notifications/expiry", Page: ExpiryPage },
  { path: "audit", Page: AuditPage, nav: { label: "Audit trail", icon: "list", group: "Organization" } },
  { path: "profile", Page: ProfilePage, isPersonal: true },
  { path: "governance", Page: FrameworksPage, nav: { label: "Governance", icon: "scale", group: "Compliance" } },
  { path: "ai-systems", Page: SystemsPage, nav: { label: "AI systems", icon: "gear", group: "Compliance" } },
  { path: "ai-systems/:system", Page: SystemPage },
  { path: "knowledge", Page: KnowledgePage, nav: { label: "Knowledge", icon: "book", group: "Compliance" } },
  { path: "governance/:framework", Page: ControlsPage },
  { path: "governance/:framework/:id", Page: ControlPage },
  { path: "connections", Page: ConnectionsPage, nav: { label: "Connections", icon: "plug", group: "Organization" } },
  { path: "connections/new", Page: NewConnectionPage },
  { path: "connections/new/:kind", Page: NewConnectionPage },
  { path: "connections/:id", Page: ConnectionPage },
];

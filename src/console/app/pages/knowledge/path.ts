import { address } from "../../api";

export const DOCUMENTS = address("admin", "knowledge-base", "documents");

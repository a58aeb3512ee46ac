export const DOCUMENTS = "admin/knowledge-base/documents";

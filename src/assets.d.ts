// Files that the bundler puts into the executable; the import is their path.
declare module "*.wasm" {
  const path: string;
  export default path;
}
declare module "*.data" {
  const path: string;
  export default path;
}
declare module "*.css" {
  const path: string;
  export default path;
}
declare module "*/page.js" {
  const path: string;
  export default path;
}

declare module "*/swagger-ui-bundle.js" {
  const path: string;
  export default path;
}

// The text of a file, in the executable.
declare module "*.md" {
  const text: string;
  export default text;
}

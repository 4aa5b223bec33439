/** Quoted text, quoted names, comments and casts: nothing in them is a parameter or a type. */
export const opaqueSql = String.raw`'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|::`

const parameter = new RegExp(`${opaqueSql}|:([a-z_]\\w*)`, 'gi')

/** A statement in which `placeholderOf` replaces every named parameter (`:name`). */
export const withPlaceholders = (sql: string, placeholderOf: (name: string) => string): string =>
  sql.replace(parameter, (found: string, name?: string) => (name === undefined ? found : placeholderOf(name)))

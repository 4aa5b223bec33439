/** Text in quotes, names in quotes, comments and casts: what looks like a parameter or a type in them is none. */
export const opaqueSql = String.raw`'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|::`

const parameter = new RegExp(`${opaqueSql}|:([a-z_]\\w*)`, 'gi')

/** A statement with every named parameter (`:name`) written as `placeholderOf` has it. */
export const withPlaceholders = (sql: string, placeholderOf: (name: string) => string): string =>
  sql.replace(parameter, (found: string, name?: string) => (name === undefined ? found : placeholderOf(name)))

/** A JSON object of which nothing is known. */
export type JsonObject = Readonly<Record<string, unknown>>

/** Empty unless the value is an object. */
export const objectOf = (value: unknown): JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : {}

/** Empty unless the value is a text or a number. */
export const textOf = (value: unknown): string => (typeof value === 'string' ? value : typeof value === 'number' ? String(value) : '')

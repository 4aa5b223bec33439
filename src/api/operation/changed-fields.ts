import { z } from 'zod'

/** A JSON schema, as far as field names are concerned. */
interface ObjectSchema {
  properties?: Record<string, unknown>
  anyOf?: ObjectSchema[]
  oneOf?: ObjectSchema[]
  allOf?: ObjectSchema[]
  $ref?: string
  $defs?: Record<string, ObjectSchema>
}

const known = new WeakMap<z.ZodType, ReadonlySet<string>>()

/** The names of the fields in a request body that its schema knows; anything else a client wrote is not recorded. */
export function changedFields(schema: z.ZodType, body: unknown): string[] {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return []
  let names = known.get(schema)
  if (!names)
    known.set(schema, (names = new Set(fieldNames(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as ObjectSchema))))
  return Object.keys(body).filter((name) => names.has(name))
}

function fieldNames(schema: ObjectSchema, definitions = schema.$defs ?? {}): string[] {
  const target = schema.$ref === undefined ? undefined : definitions[schema.$ref.replace('#/$defs/', '')]
  const parts = [...(target ? [target] : []), ...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])]
  return [...Object.keys(schema.properties ?? {}), ...parts.flatMap((part) => fieldNames(part, definitions))]
}

import { z } from 'zod'

export type JsonSchema = Record<string, unknown>
/** An object whose members are all there. */
export const recordSchema = (properties: Record<string, JsonSchema>): JsonSchema => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
})

/** Of a schema with defaults or transformations: what is taken, or what comes of it. */
type Side = 'input' | 'output'

/**
 * The JSON Schemas of the document (draft 2020-12). A zod schema that has a name (`.meta({ id })`) becomes a component
 * that the others refer to; what is taken under a name that also is answered, and differs, is `…Input`.
 */
export class SchemaComponents {
  /** By name, as they belong under `components.schemas`. */
  readonly schemas: Record<string, JsonSchema> = {}
  /** What each was made of, to know the same again. */
  readonly #texts = new Map<string, string>()
  /** Many operations answer with the same, and to convert it takes time. */
  readonly #added = { input: new Map<z.ZodType, JsonSchema>(), output: new Map<z.ZodType, JsonSchema>() }

  /** The schema, or a reference to it where it has a name; not to be changed. */
  add(schema: z.ZodType, side: Side): JsonSchema {
    const known = this.#added[side].get(schema)
    if (known) return known
    const added = this.#converted(schema, side)
    this.#added[side].set(schema, added)
    return added
  }

  #converted(schema: z.ZodType, side: Side): JsonSchema {
    const { $schema: _, ...converted } = convert(schema, side)
    const defined: Record<string, JsonSchema> = {}
    takeDefinitions(converted, defined)
    const names = new Map(Object.entries(defined).map(([name, found]) => [name, this.#nameFor(name, found, side)]))
    for (const [name, found] of Object.entries(defined)) this.schemas[names.get(name) ?? name] = referring(found, names) as JsonSchema
    return referring(converted, names) as JsonSchema
  }

  #nameFor(name: string, found: JsonSchema, side: Side): string {
    const text = JSON.stringify(found)
    const known = this.#texts.get(name)
    if (known !== undefined && known !== text && side === 'input' && !name.endsWith('Input'))
      return this.#nameFor(`${name}Input`, found, side)
    if (known !== undefined && known !== text) throw new Error(`two schemas are called ${name}`)
    this.#texts.set(name, text)
    return name
  }
}

const convert = (schema: z.ZodType, side: Side): JsonSchema =>
  z.toJSONSchema(schema, {
    target: 'draft-2020-12',
    io: side,
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => simplify(zodSchema, jsonSchema as JsonSchema, side),
  }) as JsonSchema

function simplify(schema: z.core.$ZodType, json: JsonSchema, side: Side): void {
  const def = schema._zod.def as { type: string; in?: z.ZodType; out?: z.ZodType }
  // A check that stands before a schema only guards it: what is taken is what the schema behind it takes.
  if (def.type === 'pipe' && side === 'input' && def.in?._zod.def.type === 'custom' && def.out) {
    const { $schema: _, ...behind } = convert(def.out, side)
    Object.assign(json, behind, { ...json })
  }
  if (json.minimum === Number.MIN_SAFE_INTEGER) delete json.minimum
  if (json.maximum === Number.MAX_SAFE_INTEGER) delete json.maximum
  const keys = json.propertyNames as JsonSchema | undefined
  if (keys && Object.keys(keys).length === 1 && keys.type === 'string') delete json.propertyNames
}

/** Moves what stands under `$defs`, at any depth, into `into`. */
function takeDefinitions(json: unknown, into: Record<string, JsonSchema>): void {
  if (json === null || typeof json !== 'object') return
  const { $defs: found } = json as { $defs?: Record<string, JsonSchema> }
  if (found) {
    delete (json as JsonSchema).$defs
    Object.assign(into, found)
  }
  for (const value of [...Object.values(json), ...Object.values(found ?? {})]) takeDefinitions(value, into)
}

const definition = '#/$defs/'

/** The same with its references pointing into the document. */
function referring(json: unknown, names: Map<string, string>): unknown {
  if (Array.isArray(json)) return json.map((item) => referring(item, names))
  if (json === null || typeof json !== 'object') return json
  return Object.fromEntries(
    Object.entries(json).map(([key, value]) => {
      if (key !== '$ref' || typeof value !== 'string' || !value.startsWith(definition)) return [key, referring(value, names)]
      const name = value.slice(definition.length)
      return [key, `#/components/schemas/${names.get(name) ?? name}`]
    }),
  )
}

import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'

export type JsonSchema = Record<string, unknown>
/** An object in which all members are present. */
export const recordSchema = (properties: Record<string, JsonSchema>): JsonSchema => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
})

/** For a schema with defaults or transformations: its input or its output. */
type Side = 'input' | 'output'

/**
 * The JSON Schemas of the document (draft 2020-12). A zod schema with a name (`.meta({ id })`) becomes a component that others refer
 * to.
 */
export class SchemaComponents {
  /** By name, for `components.schemas`. */
  readonly schemas: Record<string, JsonSchema> = {}
  /** Many operations have the same response, and converting it takes time. */
  readonly #added = { input: new Map<z.ZodType, JsonSchema>(), output: new Map<z.ZodType, JsonSchema>() }

  /**
   * The schema, or a reference to it if it has a name; do not change it.
   * @throws if two schemas have the same name, or a name's input and output differ
   */
  add(schema: z.ZodType, side: Side): JsonSchema {
    const known = this.#added[side].get(schema)
    if (known) return known
    const { $defs: named = {}, ...converted } = convert(schema, side)
    for (const [name, found] of Object.entries(named as Record<string, JsonSchema>)) {
      if (!isDeepStrictEqual((this.schemas[name] ??= found), found)) throw new Error(`two schemas are named ${name}`)
    }
    this.#added[side].set(schema, converted)
    return converted
  }
}

/** References point to the components of the document. */
function convert(schema: z.ZodType, side: Side): JsonSchema {
  const named: Record<string, unknown> = {}
  const {
    $schema: _,
    $defs,
    ...json
  } = z.toJSONSchema(schema, {
    target: 'draft-2020-12',
    io: side,
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => simplify(zodSchema, jsonSchema as JsonSchema, { side, named }),
  })
  return JSON.parse(
    JSON.stringify({ ...json, $defs: { ...$defs, ...named } }).replaceAll('"$ref":"#/$defs/', '"$ref":"#/components/schemas/'),
  ) as JsonSchema
}

/** Adds the schemas that have a name, and that only it has met, to `named`. */
function simplify(schema: z.core.$ZodType, json: JsonSchema, { side, named }: { side: Side; named: Record<string, unknown> }): void {
  const def = schema._zod.def as { type: string; in?: z.ZodType; out?: z.ZodType }
  // A check in front of a schema only guards it: the input is that of the schema behind it.
  if (def.type === 'pipe' && side === 'input' && def.in?._zod.def.type === 'custom' && def.out) {
    const { $defs, ...behind } = convert(def.out, side)
    Object.assign(named, $defs)
    Object.assign(json, behind, { ...json })
  }
  // A parameter is text on the wire, and has the pattern of that.
  if (json.type === 'integer') delete json.pattern
  if (json.minimum === Number.MIN_SAFE_INTEGER) delete json.minimum
  if (json.maximum === Number.MAX_SAFE_INTEGER) delete json.maximum
  const keys = json.propertyNames as JsonSchema | undefined
  if (keys && Object.keys(keys).length === 1 && keys.type === 'string') delete json.propertyNames
}

import { z } from 'zod'
import type { Operation } from './operation.ts'

/** As much of a JSON schema as decides how a value is typed. */
interface JsonSchema {
  type?: string
  const?: unknown
  enum?: readonly unknown[]
  description?: string
  anyOf?: JsonSchema[]
  oneOf?: JsonSchema[]
  allOf?: JsonSchema[]
  properties?: Record<string, JsonSchema>
  required?: readonly string[] | boolean
  $ref?: string
  $defs?: Record<string, JsonSchema>
}

/** What an operation takes under one name. */
export interface OperationField {
  /** As the API has it: `include_bots`. */
  name: string
  place: 'params' | 'query' | 'body'
  isRequired: boolean
  /** Markdown; empty if there is none. */
  description: string
  /** JSON types; any type if empty. */
  types: ReadonlySet<string>
  choices: readonly string[] | undefined
}

/** Everything that an operation takes: the parameters of its path first, then those of its query, then the fields of its body. */
export function fieldsOf({ path, query = {}, body }: Pick<Operation, 'path' | 'query' | 'body'>): OperationField[] {
  const params = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => fieldOf(name, 'params', { type: 'string', required: true }))
  const parameters = Object.entries(query).map(([name, schema]) => fieldOf(name, 'query', jsonSchemaOf(schema)))
  return [...params, ...parameters, ...(body ? membersOf(jsonSchemaOf(body.schema)) : [])]
}

const jsonSchemaOf = (schema: z.ZodType): JsonSchema => z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as JsonSchema

function fieldOf(name: string, place: OperationField['place'], schema: JsonSchema, defs = schema.$defs ?? {}): OperationField {
  const kinds = alternatives(schema, defs)
  const words = kinds.flatMap(({ enum: all = [], const: one }) => (one === undefined ? all : [one]))
  const isChoice =
    words.length > 0 && kinds.every(({ enum: all, const: one, type }) => all !== undefined || one !== undefined || type === 'null')
  return {
    name,
    place,
    isRequired: schema.required === true,
    description: schema.description ?? '',
    types: new Set(kinds.flatMap(({ type, enum: all = [], const: one }) => type ?? [...all, one].map((each) => typeof each))),
    choices: isChoice ? words.map(String) : undefined,
  }
}

/** The members of an object, of all its alternatives together. None if it is something else. */
function membersOf(schema: JsonSchema, defs = schema.$defs ?? {}): OperationField[] {
  const members = new Map<string, OperationField>()
  const objects = alternatives(schema, defs)
  for (const { properties = {}, required = [] } of objects)
    for (const [name, member] of Object.entries(properties)) {
      const isRequired = objects.length === 1 && Array.isArray(required) && required.includes(name)
      members.set(name, fieldOf(name, 'body', { ...member, required: isRequired }, defs))
    }
  return [...members.values()]
}

function alternatives(schema: JsonSchema, defs: Record<string, JsonSchema>): JsonSchema[] {
  const target = schema.$ref === undefined ? undefined : defs[schema.$ref.replace('#/$defs/', '')]
  if (target) return alternatives(target, defs)
  const parts = [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])]
  return parts.length === 0 ? [schema] : parts.flatMap((part) => alternatives(part, defs))
}

import { z } from 'zod'
import { SternaError } from '../../platform/errors.ts'
import { definitionOf, mistypedMembers } from '../../api/operation/mistyped.ts'
import { validate } from '../../api/operation/validate.ts'

/** The type that a value has if there is one. */
function bareType(type: z.ZodType): z.ZodType {
  const { innerType, in: before } = definitionOf(type)
  return innerType ? bareType(innerType) : before ? bareType(before) : type
}

const takesNull = (type: z.ZodType): boolean => {
  const { type: kind, innerType } = definitionOf(type)
  return kind === 'nullable' || (innerType !== undefined && takesNull(innerType))
}

/** The members of an object type; null for other types. */
export const partsOf = (type: z.ZodType): Record<string, z.ZodType> | null => {
  const bare = bareType(type)
  return bare instanceof z.ZodObject ? (bare.shape as Record<string, z.ZodType>) : null
}

/** Whether values are times. */
export const isTime = (type: z.ZodType): boolean => bareType(type).meta()?.['format'] === 'date-time'

/** A value as people write it in a file: `none` for no value, a list with commas, what is quoted for no reason. */
function written(type: z.ZodType, value: unknown): unknown {
  const isNone = value === null || value === 'none'
  if (isNone && takesNull(type)) return null
  const bare = bareType(type)
  const { type: kind, element } = definitionOf(bare)
  if (kind === 'boolean' && typeof value === 'string' && /^(?:true|false)$/i.test(value)) return value.toLowerCase() === 'true'
  if (kind === 'number' && typeof value === 'string' && /^\d{1,15}$/.test(value)) return Number(value)
  if (kind !== 'array' || !element) return value
  const items = isNone ? [] : typeof value === 'string' ? value.split(',').map((item) => item.trim()) : [value].flat()
  return items.map((item) => written(element, item))
}

/** Made once for each field: a file may have thousands of objects. */
const schemas = new WeakMap<z.ZodType, Map<string, z.ZodObject>>()

function schemaOf(name: string, type: z.ZodType): z.ZodObject {
  const known = schemas.get(type) ?? new Map<string, z.ZodObject>()
  schemas.set(type, known)
  const schema = known.get(name) ?? z.object({ [name]: type })
  known.set(name, schema)
  return schema
}

/**
 * The value of a field, as its type has it.
 * @throws SternaError `validation_error`, whose message begins with the name of the field
 */
export function valueOfField(name: string, type: z.ZodType, value: unknown): unknown {
  try {
    const [schema, given] = [schemaOf(name, type), { [name]: written(type, value) }]
    return validate(schema, given, mistypedMembers(schema, given))[name]
  } catch (error) {
    if (!(error instanceof SternaError)) throw error
    const messages = error.faults?.map(({ message }) => message) ?? [error.message]
    throw new SternaError('validation_error', messages.map((message) => faultLine(name, message)).join('; '), { cause: error })
  }
}

/** `tls: must be one of …`. The rules of operations speak of `The `tls` field`, or of the value alone. */
function faultLine(name: string, message: string): string {
  const [start = '', field] = /^The `([^`]*)` field /.exec(message) ?? []
  return field === undefined ? `${name}: ${message}` : `${field}: ${message.slice(start.length)}`
}

import type { OperationField } from '../../api/operation/operation-fields.ts'
import { usageFault, type CommandOption } from './command.ts'

const isFlag = ({ place, types }: OperationField): boolean => place === 'body' && types.has('boolean') && !types.has('string')

/** `include-bots` for `include_bots`. */
export const optionNameOf = (field: string): string =>
  field
    .replace(/([a-z])([A-Z])/g, '$1-$2')
    .toLowerCase()
    .replaceAll('_', '-')

/** The option of this name for a field. */
export function optionFor(field: OperationField, option = optionNameOf(field.name)): CommandOption {
  const { name, isRequired, description, choices } = field
  const doc = description === '' ? `The ${name.replaceAll('_', ' ')}.` : /[.!?]$/.test(description) ? description : `${description}.`
  if (isFlag(field)) return { type: 'boolean', doc }
  const value = placeholderOf(field, option)
  return { type: 'string', value, doc, ...(isRequired ? { required: true } : {}), ...(choices ? { choices } : {}) }
}

function placeholderOf({ types }: OperationField, option: string): string {
  if (types.has('object') && !types.has('string')) return 'JSON'
  if (types.has('integer') || types.has('number')) return 'N'
  return option.toUpperCase().split('-').at(-1) ?? ''
}

/**
 * What somebody typed, as the request has it: lists are separated by commas, and whatever begins with a brace or a bracket is JSON. A
 * value of a wrong type stays text, so that the operation says what it should be.
 * @throws SternaError `invalid_parameter` for what should be JSON
 */
export function valueOf(typed: string, { place, types }: OperationField, option: string): unknown {
  if (place !== 'body') return typed
  const [isObject, isList] = [types.has('object'), types.has('array')]
  if ((isObject || isList || types.size === 0) && /^\s*[[{]/.test(typed)) return jsonIn(typed, option)
  if ((types.has('integer') || types.has('number')) && /^-?\d+(?:\.\d+)?$/.test(typed)) return Number(typed)
  if (types.has('string') || !(isObject || isList)) return typed
  if (isList) return typed.split(',').map((item) => item.trim())
  return jsonIn(typed, option)
}

/** @throws SternaError `invalid_parameter` */
export function jsonIn(typed: string, option: string): unknown {
  try {
    return JSON.parse(typed)
  } catch {
    throw usageFault(`${option} is not JSON.`)
  }
}

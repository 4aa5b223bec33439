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

/** What stands for the values of fields whose names do not say what they are. */
const placeholders: readonly (readonly [name: RegExp, placeholder: string])[] = [
  [/^(?:since|until|start_date|end_date|\w+_at)$/, 'TIME'],
  [/^(?:to|from|cc|bcc|email|reply_to)$/, 'ADDRESS'],
  [/^custom_return_path$/, 'LABEL'],
]
/** Choices that a placeholder names. */
const maxNamed = 3

function placeholderOf({ name, types, choices, description }: OperationField, option: string): string {
  if (choices && choices.length <= maxNamed) return choices.join('|')
  if (types.has('object') && !types.has('string')) return 'JSON'
  if (types.has('integer') || types.has('number')) return 'N'
  // Pages go on from an entry of the list.
  if (name === 'after' || name === 'before') return description.includes('this domain') ? 'DOMAIN' : 'ID'
  return placeholders.find(([known]) => known.test(name))?.[1] ?? option.toUpperCase().split('-').at(-1) ?? ''
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

import { SternaError } from '../../platform/errors.ts'
import { UsageError } from './command.ts'

/**
 * An error of an operation in the words of whoever typed the command: `--url is missing` for "The `url` field is missing". What is wrong
 * about something typed is a wrong command line, which exits with 2.
 * @param typed how a field was typed; undefined if it was not
 */
export function asTyped(error: unknown, typed: (field: string) => string | undefined): unknown {
  if (!(error instanceof SternaError)) return error
  const faults = error.faults?.map((fault) => ({
    ...fault,
    field: placeOf(fault.field, typed) ?? fault.field,
    message: inWords(fault.message, typed),
  }))
  const message = inWords(error.message, typed)
  const isTyped = message !== error.message || (error.faults ?? []).some(({ field }) => placeOf(field, typed) !== undefined)
  const more = { ...(faults ? { faults } : {}), cause: error }
  return isTyped ? new UsageError(message, { code: error.code, ...more }) : error
}

/** `--basic-auth` for `basic_auth`; of what is in it, `username of --basic-auth`. */
function placeOf(path: string, typed: (field: string) => string | undefined): string | undefined {
  const [head = '', ...rest] = path.split('.')
  const place = typed(head)
  // Entries of a list have no name on a command line.
  const inner = rest.filter((part) => !/^\d+$/.test(part)).join('.')
  return place === undefined || inner === '' ? place : `${inner} of ${place}`
}

/** Text of the API with fields as they are typed. */
export function inWords(message: string, typed: (field: string) => string | undefined): string {
  return message
    .replace(
      /The (?:`([\w.]+)` field|parameter (\w+))/g,
      (whole, field?: string, parameter?: string) => placeOf(field ?? parameter ?? '', typed) ?? whole,
    )
    .replace(/`([\w.]+)`/g, (whole, field: string) => placeOf(field, typed) ?? whole)
}

import { SternaError, type ErrorCode, type FieldFault } from '../../platform/errors.ts'

/** Why one email of a batch is refused. */
export interface RefusedItem {
  /** Its position in the batch, from 0. */
  index: number
  error: SternaError
}

/** More than anybody reads. */
const maxFaults = 100

/** The field that a refusal is about, if the refusal does not name it. */
const fieldOf: Partial<Record<ErrorCode, string>> = {
  domain_not_verified: 'from',
  restricted_api_key: 'from',
  too_many_recipients: 'to',
}

/** The single refusal of a batch that is accepted entirely or not at all; each fault starts with its email: `3.to`. */
export function batchRefusal(refused: RefusedItem[]): SternaError {
  const [first] = refused
  if (!first) throw new Error('a batch was refused without a reason')
  const isMixed = refused.some(({ error }) => error.code !== first.error.code)
  const code = first.error.code === 'missing_required_field' && isMixed ? 'validation_error' : first.error.code
  const faults = refused.flatMap(({ index, error }) => faultsOf(error).map((fault) => ({ ...fault, field: placed(index, fault.field) })))
  return new SternaError(code, `Email ${first.index} of the batch: ${first.error.message}`, { faults: faults.slice(0, maxFaults) })
}

const placed = (index: number, field: string): string => (field === '' ? String(index) : `${index}.${field}`)

const faultsOf = ({ code, message, faults }: SternaError): FieldFault[] =>
  faults ?? [{ field: fieldOf[code] ?? '', code, message, help: null }]

import type { AccountScope } from '../../senders/account/account-scope.ts'
import { byCommand } from '../../senders/account/audit-log.ts'
import { rightsOfKey } from '../../senders/account/permission.ts'
import type { Operation } from './operation.ts'
import { perform, type PerformServices } from './perform.ts'
import type { UncheckedCall } from './call.ts'
import type { Caller } from './caller.ts'

/** A call of an operation by this process itself. */
interface OperationCall extends Pick<LocalCall, 'params' | 'query' | 'body'> {
  /** An account id of '' is that of nobody, for operations on the whole server. */
  scope: AccountScope
  /** True if whoever calls records the change. */
  isRecorded?: true
}

/** @throws SternaError whatever the operation refuses */
export type OperationClient = (id: string, call: OperationCall) => Promise<unknown>

/** Carries out operations for commands: whoever may run them may do everything. */
export function operationClient(
  operations: readonly Operation[],
  { audit, changes }: Omit<PerformServices, 'idempotencyKeys'>,
): OperationClient {
  const byId = new Map(operations.map((operation) => [operation.id, operation]))
  const record: typeof audit.record = (change) => audit.record({ ...change, accountId: change.accountId === '' ? null : change.accountId })
  return async (id, { scope, isRecorded = false, ...call }) => {
    const operation = byId.get(id)
    if (!operation) throw new Error(`there is no operation ${id}`)
    const caller = { ...scope, ...byCommand, domainId: null, confined: scope.sandbox, rights: rightsOfKey('operator') }
    const recorder = { record: isRecorded ? async () => {} : record }
    return perform(operation, localCall(caller, call), { audit: recorder, changes, idempotencyKeys: null })
  }
}

/** What a client in this process says in a call. */
interface LocalCall {
  params?: Record<string, string>
  /** As texts, as they would stand in a query string. */
  query?: Record<string, string | undefined>
  body?: unknown
  headers?: UncheckedCall['headers']
  /** Gets the header fields of the answer, such as `Idempotency-Replayed`. */
  reply?: UncheckedCall['reply']
}

/** A call that a client in this process makes, for `perform`. */
export const localCall = (
  caller: Caller,
  { params = {}, query = {}, body, headers = {}, reply = new Headers() }: LocalCall = {},
): UncheckedCall => ({
  caller,
  params,
  query: new URLSearchParams(Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined)).toString(),
  headers,
  path: '',
  reply,
  readBody: ({ as }) => (as === 'bytes' ? Buffer.from(JSON.stringify(body ?? null)) : as === 'text' ? String(body ?? '') : body),
})

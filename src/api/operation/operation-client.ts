import type { AccountScope } from '../../senders/account/account-scope.ts'
import { rightsOfKey } from '../../senders/account/permission.ts'
import { localCall, type LocalCall } from './local-call.ts'
import type { Operation } from './operation.ts'
import { perform, type PerformServices } from './perform.ts'

/** A call of an operation by this process itself. */
export interface OperationCall extends Pick<LocalCall, 'params' | 'query' | 'body'> {
  /** An account id of '' is that of nobody, for operations on the whole server. */
  scope: AccountScope
  /** True if whoever calls records the change. */
  isRecorded?: true
}

/** @throws SternaError whatever the operation refuses */
export type OperationClient = (id: string, call: OperationCall) => Promise<unknown>

/** Carries out operations for commands: whoever may run them may do everything. */
export function operationClient(operations: readonly Operation[], { audit, ...services }: PerformServices): OperationClient {
  const byId = new Map(operations.map((operation) => [operation.id, operation]))
  const record: typeof audit.record = (change) => audit.record({ ...change, accountId: change.accountId === '' ? null : change.accountId })
  return async (id, { scope, isRecorded = false, ...call }) => {
    const operation = byId.get(id)
    if (!operation) throw new Error(`there is no operation ${id}`)
    const caller = {
      ...scope,
      domainId: null,
      confined: scope.sandbox,
      rights: rightsOfKey('operator'),
      actor: { type: 'command', id: null, name: 'command line' } as const,
      address: null,
      requestId: null,
    }
    return perform(operation, localCall(caller, call), { ...services, audit: { record: isRecorded ? async () => {} : record } })
  }
}

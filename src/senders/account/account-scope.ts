/** Whose data, and which: live mail and the sandbox are separate. */
export interface AccountScope {
  accountId: string
  sandbox: boolean
}

/** The parameters `:accountId` and `:sandbox` of a statement. */
export const scopeParams = ({ accountId, sandbox }: AccountScope): { accountId: string; sandbox: number } => ({
  accountId,
  sandbox: sandbox ? 1 : 0,
})

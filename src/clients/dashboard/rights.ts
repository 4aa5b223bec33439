import { session } from './api/client.ts'

/** What the user who is logged in may do. Pages leave out what is refused anyway; the server decides. */
const user = () => session.value?.user

export const isOperator = (): boolean => user()?.operator === true
export const isOwner = (): boolean => user()?.role === 'owner'
/** Changes domains, keys, webhooks, and so on. */
export const mayChange = (): boolean => isOperator() || user()?.role === 'owner' || user()?.role === 'admin'
export const maySend = (): boolean => mayChange() || user()?.role === 'member'

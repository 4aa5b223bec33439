import { batch, effect, signal } from '@preact/signals'
import type { Problem, Session } from './types.ts'

/** The path below which this server is reached; empty for most. */
export const basePath = document.documentElement.dataset['basePath'] ?? ''

/** Who is logged in: null for nobody, undefined until that is known. */
export const session = signal<Session | null | undefined>(undefined)

/** True once the session of whoever is shown as logged in has ended: pages stay as they are, and calls wait for the next login. */
export const sessionEnded = signal(false)

const accountKey = 'sterna-account'

/** The account that an operator acts in, in this tab; null: the one that they belong to. */
export const actingIn = signal<string | null>(sessionStorage.getItem(accountKey))

/** Goes to another account, or with null back to one's own. Everything is loaded anew, so nothing of the one is taken for the other's. */
export function actIn(accountId: string | null): void {
  keepAccount(accountId)
  location.assign(`${basePath}/`)
}

function keepAccount(accountId: string | null): void {
  if (accountId === null) sessionStorage.removeItem(accountKey)
  else sessionStorage.setItem(accountKey, accountId)
}

/** True while the server cannot be reached. It is asked again by itself, so that pages come back without a click. */
export const offline = signal(false)

const firstRetryMs = 2_000
const maxRetryMs = 30_000
let retryTimer: ReturnType<typeof setTimeout> | undefined
offline.subscribe((isOffline) => isOffline && askAgain(firstRetryMs))

function askAgain(afterMs: number): void {
  clearTimeout(retryTimer)
  retryTimer = setTimeout(async () => {
    if (!offline.value) return
    await loadSession().catch(() => undefined)
    if (offline.value) askAgain(Math.min(2 * afterMs, maxRetryMs))
  }, afterMs)
}

/** A refusal, or no answer at all (`status` 0). */
export class ApiError extends Error {
  readonly status: number
  readonly code: string
  readonly requestId: string | null
  /** What is wrong with which field. */
  readonly faults: NonNullable<Problem['errors']>

  constructor({ status, name, message, request_id: requestId, errors = [] }: Problem) {
    super(message)
    this.status = status
    this.code = name
    this.requestId = requestId ?? null
    this.faults = errors
  }
}

export interface RequestOptions {
  method?: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  body?: unknown
  /** Asks for what is in the sandbox instead of what is live. */
  sandbox?: boolean
  signal?: AbortSignal
}

interface Token {
  value: string
  /** When it is to be renewed; ms since the page was loaded. */
  renewAt: number
}

/** Tokens work for 15 minutes. */
const renewAfterMs = 12 * 60_000
const tokens = new Map<boolean, Promise<Token>>()
const tabs = new BroadcastChannel('sterna-session')
tabs.onmessage = async () => {
  await loadSession()
  // Somebody logged out.
  if (sessionEnded.value) forgetSession()
}

/** Finds out who is logged in. */
export async function loadSession(): Promise<void> {
  try {
    show(await send<Session>('/session'))
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 401) throw error
    endSession()
  }
}

/** @throws ApiError `invalid_credentials`, `second_factor_required`, `rate_limit_exceeded` */
export async function logIn(credentials: { email: string; password: string; code?: string }): Promise<void> {
  begin(await send<Session>('/session', { method: 'POST', body: credentials }))
}

/** @throws ApiError `invalid_credentials`, `rate_limit_exceeded` */
export async function logInByPasskey(credential: unknown): Promise<void> {
  begin(await send<Session>('/session/passkey', { method: 'POST', body: { credential } }))
}

function show(current: Session | null): void {
  batch(() => {
    session.value = current
    sessionEnded.value = false
  })
}

function begin(begun: Session): void {
  tokens.clear()
  show(begun)
  tabs.postMessage('changed')
}

export async function logOut(): Promise<void> {
  await send('/session', { method: 'DELETE' }).catch(() => undefined)
  forgetSession()
  tabs.postMessage('changed')
}

/** Leaves the page to the next user. */
export function forgetSession(): void {
  tokens.clear()
  keepAccount(null)
  batch(() => {
    actingIn.value = null
    show(null)
  })
}

/** The session is over, though nobody logged out: what was typed stays for its user. */
function endSession(): void {
  if (!session.value) return forgetSession()
  tokens.clear()
  sessionEnded.value = true
}

/** Until the same user has logged in again. */
function loggedInAgain(): Promise<void> {
  const user = session.value?.user.id
  return new Promise((resolve, reject) => {
    const stop = effect(() => {
      if (sessionEnded.value) return
      queueMicrotask(() => stop())
      if (session.value?.user.id === user) resolve()
      else reject(new ApiError({ status: 401, name: 'invalid_credentials', message: '' }))
    })
  })
}

/**
 * Calls the API for the user who is logged in, or one of the routes below `/session`.
 * @throws ApiError
 */
export async function call<T>(path: string, options: RequestOptions = {}): Promise<T> {
  return bodyOf<T>(await callForResponse(path, options))
}

/** The same for what is not JSON. */
export async function callForResponse(path: string, options: RequestOptions = {}): Promise<Response> {
  const isOfApi = path.startsWith('/api/')
  for (;;) {
    if (sessionEnded.value) await loggedInAgain()
    const user = session.value?.user.id
    try {
      return isOfApi ? await callWithToken(path, options) : await checked(await fetched(path, options, null))
    } catch (error) {
      if (!isOfApi && error instanceof ApiError && error.code === 'invalid_session') endSession()
      if (!sessionEnded.value || session.value?.user.id !== user || options.signal?.aborted) throw error
    }
  }
}

async function callWithToken(path: string, options: RequestOptions): Promise<Response> {
  const sandbox = options.sandbox === true
  const first = await fetched(path, options, await tokenFor(sandbox))
  if (first.status !== 401) return checked(first)
  // The token ran out early, or the session ended elsewhere: one more token tells which.
  tokens.delete(sandbox)
  const second = await fetched(path, options, await tokenFor(sandbox))
  if (second.status === 401) endSession()
  return checked(second)
}

async function tokenFor(sandbox: boolean): Promise<string> {
  const known = await tokens.get(sandbox)
  if (known && performance.now() < known.renewAt) return known.value
  const asked = exchange(sandbox)
  tokens.set(sandbox, asked)
  try {
    return (await asked).value
  } catch (error) {
    tokens.delete(sandbox)
    if (error instanceof ApiError && error.status === 401) endSession()
    throw error
  }
}

async function exchange(sandbox: boolean): Promise<Token> {
  const account = actingIn.value === null ? {} : { account_id: actingIn.value }
  const body = { sandbox, ...account }
  const { token } = await send<{ token: string }>('/session/token', { method: 'POST', body }).catch(backFromLostAccount)
  return { value: token, renewAt: performance.now() + renewAfterMs }
}

/** The account was removed, or the user is no operator any more. */
function backFromLostAccount(error: unknown): never {
  if (actingIn.value !== null && error instanceof ApiError && error.status === 404) actIn(null)
  throw error
}

const send = async <T>(path: string, options: RequestOptions = {}): Promise<T> =>
  bodyOf<T>(await checked(await fetched(path, options, null)))

async function fetched(path: string, { method = 'GET', body, signal: aborted }: RequestOptions, token: string | null): Promise<Response> {
  const headers: Record<string, string> = { accept: 'application/json' }
  if (token !== null) headers['authorization'] = `Bearer ${token}`
  if (body !== undefined) headers['content-type'] = 'application/json'
  try {
    const response = await fetch(basePath + path, {
      method,
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(aborted ? { signal: aborted } : {}),
    })
    if (isOfProxy(response)) throw new Error('The server is not there.')
    offline.value = false
    return response
  } catch (error) {
    if ((error as Error).name === 'AbortError') throw error
    offline.value = true
    throw new ApiError({ status: 0, name: 'offline', message: '' })
  }
}

/** Whether a proxy answers because the server behind it does not. */
const isOfProxy = ({ status, headers }: Response): boolean =>
  status >= 502 && status <= 504 && !headers.get('content-type')?.includes('json')

async function checked(response: Response): Promise<Response> {
  if (response.ok) return response
  const problem = (await response.json().catch(() => ({}))) as Partial<Problem>
  // The page was loaded before the server had a certificate. Loaded again, it comes by https.
  if (problem.name === 'https_required' && location.protocol === 'http:') location.reload()
  throw new ApiError({ name: 'unknown', message: response.statusText, ...problem, status: response.status })
}

async function bodyOf<T>(response: Response): Promise<T> {
  const text = await response.text()
  return (text === '' ? undefined : JSON.parse(text)) as T
}

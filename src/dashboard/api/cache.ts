import { signal, type Signal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { ApiError, call, offline, session } from './client.ts'

/** What is known of one answer of the API. */
interface Entry {
  path: string
  sandbox: boolean
  data: Signal<unknown>
  error: Signal<ApiError | null>
  /** When `data` was fetched, ms since the page was loaded; 0 where it has to be fetched again. */
  fetchedAt: number
  fetching: Promise<void> | null
  /** The fetch after that one, where one was asked for while it was under way. */
  next: Promise<void> | null
  /** How many parts of the page show it. */
  users: number
}

export interface Resource<T> {
  /** Undefined until the first answer; then what was answered last, also while it is fetched again or cannot be. */
  data: T | undefined
  error: ApiError | null
  /** Fetches it again. */
  reload(): Promise<void>
}

const freshMs = 10_000
const mostEntries = 200
const entries = new Map<string, Entry>()

/** An answer of the API, fetched when it is first shown and again when it is older than ten seconds; null asks for nothing. */
export function useApi<T>(
  path: string | null,
  { sandbox = false, everyMs }: { sandbox?: boolean; everyMs?: number | null } = {},
): Resource<T> {
  const key = path === null ? null : keyOf(path, sandbox)
  const entry = path === null ? null : entryOf(path, sandbox)
  const shown = useRef(entry)
  shown.current = entry
  useEffect(() => {
    const used = shown.current
    if (!used) return
    used.users++
    if (performance.now() - used.fetchedAt > freshMs || used.fetchedAt === 0) void refresh(used)
    const timer = everyMs ? setInterval(() => document.hidden || void refresh(used), everyMs) : undefined
    return () => {
      used.users--
      clearInterval(timer)
    }
  }, [key, everyMs])
  return {
    data: entry?.data.value as T | undefined,
    error: entry?.error.value ?? null,
    reload: () => (entry ? refetch(entry) : Promise.resolve()),
  }
}

/** Says that what the API answers at paths that begin like this may have changed: it is fetched again where it is shown. */
export function invalidate(...prefixes: string[]): void {
  for (const entry of entries.values()) {
    if (!prefixes.some((prefix) => entry.path.startsWith(prefix))) continue
    entry.fetchedAt = 0
    if (entry.users > 0) void refetch(entry)
  }
}

session.subscribe((current) => {
  // What one user saw is not for the next.
  if (current === null) entries.clear()
})

offline.subscribe((isOffline) => {
  if (isOffline) return
  for (const entry of entries.values()) if (entry.users > 0 && entry.error.value?.status === 0) void refetch(entry)
})

const keyOf = (path: string, sandbox: boolean): string => `${sandbox ? 'sandbox' : 'live'} ${path}`

function entryOf(path: string, sandbox: boolean): Entry {
  const key = keyOf(path, sandbox)
  const known = entries.get(key)
  if (known) return known
  const entry: Entry = { path, sandbox, data: signal(undefined), error: signal(null), fetchedAt: 0, fetching: null, next: null, users: 0 }
  entries.set(key, entry)
  if (entries.size > mostEntries) evictOldest()
  return entry
}

function evictOldest(): void {
  for (const [key, { users }] of entries) {
    if (users > 0) continue
    entries.delete(key)
    return
  }
}

function refresh(entry: Entry): Promise<void> {
  entry.fetching ??= fetchInto(entry).finally(() => {
    entry.fetching = null
  })
  return entry.fetching
}

/** The same for what has changed just now: a fetch that is under way may have been answered before that. */
function refetch(entry: Entry): Promise<void> {
  if (!entry.fetching) return refresh(entry)
  entry.next ??= entry.fetching.then(() => {
    entry.next = null
    return refresh(entry)
  })
  return entry.next
}

async function fetchInto(entry: Entry): Promise<void> {
  try {
    const answered = await call<unknown>(entry.path, { sandbox: entry.sandbox })
    entry.data.value = answered
    entry.error.value = null
    entry.fetchedAt = performance.now()
  } catch (error) {
    entry.error.value = error instanceof ApiError ? error : new ApiError({ status: 0, name: 'unknown', message: String(error) })
  }
}

import { signal, type Signal } from '@preact/signals'
import { useEffect, useRef, useState } from 'preact/hooks'
import { ApiError, call, offline, session } from './client.ts'
import type { List } from './types.ts'

/** What is known of one answer of the API. */
interface Entry {
  path: string
  sandbox: boolean
  /** Whether the rest of a list is fetched too, page by page. */
  follow: Follow
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

/**
 * `none`: one answer. `all`: a list to its end. `search`: a list that was searched only so far, until a page is full; somebody who
 * waits for more asks for it.
 */
type Follow = 'none' | 'all' | 'search'

interface Options {
  sandbox?: boolean
  everyMs?: number | null
  follow?: Follow
}

const freshMs = 10_000
/** Searches that follow one another by themselves. */
const maxSearches = 20
/** Rows of a page of emails. */
export const fullPage = 50
const maxEntries = 200
const entries = new Map<string, Entry>()

/** An answer of the API, fetched when it is first shown and again when it is older than ten seconds; null asks for nothing. */
export function useApi<T>(path: string | null, { sandbox = false, everyMs, follow = 'none' }: Options = {}): Resource<T> {
  const entry = path === null ? null : entryOf(path, sandbox, follow)
  const key = entry && keyOf(entry)
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

/** A list of the API from its beginning to its end, however long it is; what is there already is shown while the rest is fetched. */
export const useAll = <T>(path: string | null, options: Omit<Options, 'follow'> = {}): Resource<List<T>> =>
  useApi<List<T>>(path && `${path}?limit=100`, { ...options, follow: 'all' })

/** What there is so far of such a list. */
export const useRows = <T>(path: string | null): T[] => useAll<T>(path).data?.data ?? []

/** Says that what the API answers at paths that begin like this may have changed: it is fetched again where it is shown. */
export function invalidate(...prefixes: string[]): void {
  for (const entry of entries.values()) {
    if (!prefixes.some((prefix) => entry.path.startsWith(prefix))) continue
    entry.fetchedAt = 0
    if (entry.users > 0) void refetch(entry)
  }
}

let seenBy: string | undefined
session.subscribe((current) => {
  // What one user saw is not for the next.
  if (current?.user.id !== seenBy) entries.clear()
  seenBy = current?.user.id
})

offline.subscribe((isOffline) => {
  if (isOffline) return
  for (const entry of entries.values()) if (entry.users > 0 && entry.error.value?.status === 0) void refetch(entry)
})

const keyOf = ({ path, sandbox, follow }: Pick<Entry, 'path' | 'sandbox' | 'follow'>): string =>
  `${sandbox ? 'sandbox' : 'live'} ${follow} ${path}`

function entryOf(path: string, sandbox: boolean, follow: Follow): Entry {
  const key = keyOf({ path, sandbox, follow })
  const known = entries.get(key)
  if (known) return known
  const state = { data: signal<unknown>(undefined), error: signal<ApiError | null>(null) }
  const entry: Entry = { path, sandbox, follow, ...state, fetchedAt: 0, fetching: null, next: null, users: 0 }
  entries.set(key, entry)
  if (entries.size > maxEntries) evictOldest()
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
    entry.data.value = await fetchWhole(entry)
    entry.error.value = null
    entry.fetchedAt = performance.now()
  } catch (error) {
    entry.error.value = error instanceof ApiError ? error : new ApiError({ status: 0, name: 'unknown', message: String(error) })
  }
}

/** What a list goes on behind: an id, or the place of a row. */
interface Listed {
  id?: string
  place?: number
}

/** Shows what came so far where nothing was shown before. */
async function fetchWhole(entry: Entry): Promise<unknown> {
  const { path, sandbox, follow } = entry
  const isFirst = entry.data.value === undefined
  let answered = await call<List<Listed>>(path, { sandbox })
  for (let after = nextOf(answered, follow), pages = 1; after !== null; after = nextOf(answered, follow), pages++) {
    if (follow === 'search' && (entry.users === 0 || pages === maxSearches)) break
    if (isFirst) entry.data.value = answered
    const next = await call<List<Listed>>(`${path}&after=${after}`, { sandbox })
    answered = { ...next, data: [...answered.data, ...next.data] }
  }
  return answered
}

function nextOf({ has_more: hasMore, data, stopped_at: stoppedAt }: List<Listed>, follow: Follow): string | null {
  if (follow === 'search') return stoppedAt && data.length < fullPage ? stoppedAt.id : null
  const last = follow === 'all' && hasMore ? data.at(-1) : undefined
  return last ? String(last.id ?? last.place) : null
}

interface Fetched<T> {
  /** What came last, also while the next is fetched or cannot be. */
  data: T | undefined
  error: ApiError | null
  /** Whether both are of what is asked for now. */
  isCurrent: boolean
}

/** What `fetching` gives, anew whenever `key` changes: for what `useApi` cannot keep, as it is no answer to a GET. */
export function useFetched<T>(key: string, fetching: (aborted: AbortSignal) => Promise<T>): Fetched<T> {
  const [last, setLast] = useState<{ key: string | null; data: T | undefined; error: ApiError | null }>({
    key: null,
    data: undefined,
    error: null,
  })
  useEffect(() => {
    const aborted = new AbortController()
    fetching(aborted.signal).then(
      (data) => aborted.signal.aborted || setLast({ key, data, error: null }),
      (error: unknown) => {
        if (aborted.signal.aborted) return
        if (!(error instanceof ApiError)) throw error
        setLast(({ data }) => ({ key, data, error }))
      },
    )
    return () => aborted.abort()
  }, [key])
  return { data: last.data, error: last.error, isCurrent: last.key === key }
}

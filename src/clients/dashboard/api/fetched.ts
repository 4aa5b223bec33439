import { useEffect, useState } from 'preact/hooks'
import { ApiError } from './client.ts'

export interface Fetched<T> {
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

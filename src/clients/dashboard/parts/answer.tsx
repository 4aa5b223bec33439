import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { Resource } from '../api/cache.ts'
import type { ApiError } from '../api/client.ts'
import { setQuery } from '../router.tsx'
import { t } from '../texts/texts.ts'
import { Note, Page, type PageFrame } from './page.tsx'

interface AnswerFrame<T> {
  of: Resource<T>
  /** Lines of what stands in its place until it is there. */
  rows?: number
  /** Instead of the API's own words, where what somebody typed into a filter is nothing that could match. */
  unfit?: ComponentChildren
  children(data: T): ComponentChildren
}

/**
 * What the API answered, shown by `children`. Until then nothing for 200 ms and then grey lines; what was answered earlier stays
 * while something goes wrong, with the reason above it.
 */
export function Answer<T>({ of: resource, rows = 4, unfit, children }: AnswerFrame<T>) {
  const { data, error, reload } = resource
  if (unfit && error?.code === 'invalid_parameter') return <>{unfit}</>
  return (
    <>
      {error && error.status !== 0 && <Refusal error={error} onRetry={reload} />}
      {data === undefined ? !error && <Skeleton rows={rows} /> : children(data)}
    </>
  )
}

export const Refusal = ({ error, onRetry }: { error: ApiError; onRetry?: () => unknown }) => (
  <Note
    tone="bad"
    action={
      onRetry && (
        <button class="btn small" type="button" onClick={() => void onRetry()}>
          {t.common.tryAgain}
        </button>
      )
    }
  >
    <p role="alert">
      <b>{error.message === '' ? t.offline : error.message}</b>
    </p>
    {error.requestId && (
      <p class="muted">
        {t.common.requestId} <code>{error.requestId}</code>
      </p>
    )}
  </Note>
)

/** What is wrong with what somebody entered, or why an action did not work. */
export const Fault = ({ text }: { text: string }) => (
  <p class="fault" role="alert">
    {text}
  </p>
)

const patienceMs = 200

export function Skeleton({ rows }: { rows: number }) {
  const [isLate, setLate] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), patienceMs)
    return () => clearTimeout(timer)
  }, [])
  return (
    <div class="skeleton" aria-busy="true" aria-label={t.common.loading} role="status">
      {isLate && Array.from({ length: rows }, (_, row) => <span key={row} />)}
    </div>
  )
}

/** Where there is nothing: why, and what changes it. */
export const Empty = ({ text, children }: { text: string; children?: ComponentChildren }) => (
  <div class="empty">
    <p>{text}</p>
    {children}
  </div>
)

/** Where the filters, by their names in the page's address, leave nothing. */
export const NoMatch = ({ text, filters }: { text: string; filters: readonly string[] }) => (
  <Empty text={text}>
    <button class="btn" type="button" onClick={() => setQuery(Object.fromEntries([...filters, 'after'].map((name) => [name, null])))}>
      {t.common.clearFilters}
    </button>
  </Empty>
)

interface ObjectFrame<T> extends Pick<PageFrame, 'crumb'> {
  of: Resource<T>
  /** Names the tab where there is no object. */
  title: string
  /** Says that there is none. */
  missing: string
  children(object: T): ComponentChildren
}

/** The page of one object, which `children` show; before it is there, and where there is none, a page without. */
export function ObjectPage<T>({ of: resource, missing, children, ...page }: ObjectFrame<T>) {
  if (resource.data !== undefined) return <>{children(resource.data)}</>
  const isMissing = resource.error?.status === 404
  return (
    <Page heading={isMissing ? missing : ''} {...page}>
      {!isMissing && <Answer of={resource}>{() => null}</Answer>}
    </Page>
  )
}

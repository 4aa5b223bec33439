import type { ComponentChildren } from 'preact'
import type { Resource } from '../api/cache.ts'
import { Answer } from './answer.tsx'
import { Page, type PageFrame } from './page.tsx'

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

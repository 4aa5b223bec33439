/** What is tracked in a message. */
export interface TrackingOptions {
  opens: boolean
  clicks: boolean
  /** True if neither the reader's address nor user agent is stored. */
  anonymous: boolean
}

const names = ['opens', 'clicks', 'anonymous'] as const

/** The column `message.tracking`: the names of what is on; null if nothing is tracked. */
export const trackingColumn = (options: TrackingWish): string | null =>
  options.opens || options.clicks ? names.filter((name) => options[name]).join(',') : null

export function storedTracking(column: string | null): TrackingOptions | null {
  if (column === null) return null
  const on = new Set(column.split(','))
  return { opens: on.has('opens'), clicks: on.has('clicks'), anonymous: on.has('anonymous') }
}

/** What a submitter requests. Omitted members default to the domain's setting; `anonymous` defaults to false. */
export type TrackingWish = Partial<TrackingOptions>

/** Applies the domain's defaults to what the submitter requests. Mail without a domain is not tracked. */
export const trackingFor = (wish: TrackingWish, domain: Pick<TrackingOptions, 'opens' | 'clicks'> | null): TrackingOptions =>
  domain ? { opens: domain.opens, clicks: domain.clicks, anonymous: false, ...wish } : { opens: false, clicks: false, anonymous: false }

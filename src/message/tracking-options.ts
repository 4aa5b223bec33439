/** What is tracked of a message. */
export interface TrackingOptions {
  opens: boolean
  clicks: boolean
  /** Whether neither address nor user agent of a reader is kept. */
  anonymous: boolean
}

const names = ['opens', 'clicks', 'anonymous'] as const

/** As the column `message.tracking` has it: the names of what is on; null where nothing is tracked. */
export const trackingColumn = (options: TrackingWish): string | null =>
  options.opens || options.clicks ? names.filter((name) => options[name]).join(',') : null

export function storedTracking(column: string | null): TrackingOptions | null {
  if (column === null) return null
  const on = new Set(column.split(','))
  return { opens: on.has('opens'), clicks: on.has('clicks'), anonymous: on.has('anonymous') }
}

/** What a submitter asks for; what is left out is as its domain has it, and `anonymous` is false. */
export type TrackingWish = Partial<TrackingOptions>

/** What holds for a message: what its submitter asks for, else its domain. Mail without a domain is not tracked. */
export const trackingFor = (wish: TrackingWish, domain: Pick<TrackingOptions, 'opens' | 'clicks'> | null): TrackingOptions =>
  domain ? { opens: domain.opens, clicks: domain.clicks, anonymous: false, ...wish } : { opens: false, clicks: false, anonymous: false }

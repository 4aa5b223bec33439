/** What is tracked of a message. */
export interface TrackingOptions {
  opens: boolean
  clicks: boolean
  /** Whether neither address nor user agent of a reader is kept. */
  anonymous: boolean
}

const names = ['opens', 'clicks', 'anonymous'] as const

/** As the column `message.tracking` has it: the names of what is on. */
export const trackingColumn = (options: TrackingOptions | null): string | null => options && names.filter((name) => options[name]).join(',')

export function storedTracking(column: string | null): TrackingOptions | null {
  if (column === null) return null
  const on = new Set(column.split(','))
  return { opens: on.has('opens'), clicks: on.has('clicks'), anonymous: on.has('anonymous') }
}

/** What a submitter asks for; what is left out is as its domain has it, and `anonymous` is false. */
export type TrackingWish = Partial<TrackingOptions>

/** What holds for a message: what its submitter asks for, else its domain. Null where nothing is tracked. */
export function trackingFor(wish: TrackingWish, domain: Pick<TrackingOptions, 'opens' | 'clicks'> | null): TrackingOptions | null {
  const options = { opens: domain?.opens ?? false, clicks: domain?.clicks ?? false, anonymous: false, ...wish }
  return domain && (options.opens || options.clicks) ? options : null
}

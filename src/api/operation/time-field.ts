import { z } from 'zod'

/** A time in a response or an event, as `isoTime` writes it. */
export const timeAnswer = z.iso.datetime({ precision: 3 })

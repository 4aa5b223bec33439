import type { Lane } from './queue-store.ts'

/** No domain has it in its name. */
const urgentMark = '!'

/** By what the directory knows the usual, or the urgent, mail for a destination. */
export const destinationKey = ({ destination, urgent }: Pick<Lane, 'destination' | 'urgent'>): string =>
  urgent === 0 ? destination : urgentKey(destination)

export const urgentKey = (name: string): string => name + urgentMark
export const isUrgent = (key: string): boolean => key.endsWith(urgentMark)
export const nameOf = (key: string): string => (isUrgent(key) ? key.slice(0, -urgentMark.length) : key)

import { eventTypes } from '../../../mail/event/event-type.ts'

/** What each type of event is called. */
export const eventWords = (language: 'en' | 'de'): Record<string, string> =>
  Object.fromEntries(Object.entries(eventTypes).map(([type, { words }]) => [type, words[language]]))

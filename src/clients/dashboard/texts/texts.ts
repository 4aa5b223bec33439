import { en, type Texts } from './en.ts'

/** By what they call themselves. */
export const languages = { en: 'English', de: 'Deutsch' } as const
type Language = keyof typeof languages

const key = 'sterna-language'

/** The texts of the language in use; to be read when something is shown, not before. */
export let t: Texts = en
let current: Language = 'en'

export const language = (): Language => current

/** Loads the texts of the language that was chosen, or that the browser asks for. */
export async function loadTexts(): Promise<void> {
  const kept = localStorage.getItem(key) ?? navigator.language.slice(0, 2)
  if (kept === 'de') {
    t = (await import('./de.ts')).de
    current = 'de'
  }
  document.documentElement.lang = current
}

/** Switches to another language, for this browser. */
export function chooseLanguage(chosen: string): void {
  localStorage.setItem(key, chosen)
  location.reload()
}

import { en, type Texts } from './en.ts'

// Begun; what is not translated yet is English.
export const de: Texts = { ...en }

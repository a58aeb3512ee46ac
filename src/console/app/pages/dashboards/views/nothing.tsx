/** In place of a chart that would be empty. */
export const Nothing = ({ text }: { text: string }) => <p class="nothing">{text}</p>;

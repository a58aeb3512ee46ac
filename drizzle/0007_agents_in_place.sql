-- Agents are seen, reports arrive and labels change again and again, and no index knows of it: with room on its page
-- a row is written anew beside the old one, and every index entry still leads there.
ALTER TABLE "agents" SET (fillfactor = 50);
--> statement-breakpoint
ALTER TABLE "assignments" SET (fillfactor = 80);
